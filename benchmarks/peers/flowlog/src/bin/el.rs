flowlog_peer::program!(
    "el", 4,
    [
        insert_subgiven remove_subgiven (i32, i32) => |row| (row.0 == 0).then_some((row.1, row.2)),
        insert_linkgiven remove_linkgiven (i32, i32, i32) => |row| (row.0 == 1).then_some((row.1, row.2, row.3)),
        insert_implied remove_implied (i32, i32, i32) => |row| (row.0 == 2).then_some((row.1, row.2, row.3)),
        insert_both remove_both (i32, i32, i32) => |row| (row.0 == 3).then_some((row.1, row.2, row.3)),
        insert_subrole remove_subrole (i32, i32) => |row| (row.0 == 4).then_some((row.1, row.2)),
        insert_chain remove_chain (i32, i32, i32) => |row| (row.0 == 5).then_some((row.1, row.2, row.3))
    ],
    [
        sub "sub" => |f: (i32, i32)| vec![f.0, f.1, 0],
        link "link" => |f: (i32, i32, i32)| vec![f.0, f.1, f.2]
    ]
);
