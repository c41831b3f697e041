flowlog_peer::program!(
    "csda", 3,
    [
        insert_nulledge remove_nulledge (i32, i32) => |row| (row.0 == 0).then_some((row.1, row.2)),
        insert_flow remove_flow (i32, i32) => |row| (row.0 == 1).then_some((row.1, row.2))
    ],
    [
        null "null" => |f: (i32, i32)| vec![f.0, f.1, 0]
    ]
);
