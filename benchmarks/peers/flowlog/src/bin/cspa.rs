flowlog_peer::program!(
    "cspa", 3,
    [
        insert_assign remove_assign (i32, i32) => |row| (row.0 == 0).then_some((row.1, row.2)),
        insert_dereference remove_dereference (i32, i32) => |row| (row.0 == 1).then_some((row.1, row.2))
    ],
    [
        valueflow "valueFlow" => |f: (i32, i32)| vec![f.0, f.1, 0],
        memoryalias "memoryAlias" => |f: (i32, i32)| vec![f.0, f.1, 0],
        valuealias "valueAlias" => |f: (i32, i32)| vec![f.0, f.1, 0]
    ]
);
