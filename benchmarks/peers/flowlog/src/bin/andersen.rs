flowlog_peer::program!(
    "andersen", 3,
    [
        insert_address remove_address (i32, i32) => |row| (row.0 == 0).then_some((row.1, row.2)),
        insert_assign remove_assign (i32, i32) => |row| (row.0 == 1).then_some((row.1, row.2)),
        insert_load remove_load (i32, i32) => |row| (row.0 == 2).then_some((row.1, row.2)),
        insert_store remove_store (i32, i32) => |row| (row.0 == 3).then_some((row.1, row.2))
    ],
    [
        points "points" => |f: (i32, i32)| vec![f.0, f.1, 0]
    ]
);
