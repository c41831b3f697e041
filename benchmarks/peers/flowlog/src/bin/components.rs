flowlog_peer::program!(
    "components", 3,
    [
        insert_edge remove_edge (i32, i32, i32) => |row| Some((row.0, row.1, row.2))
    ],
    [
        component "component" => |f: (i32, i32)| vec![f.0, f.1, 0]
    ]
);
