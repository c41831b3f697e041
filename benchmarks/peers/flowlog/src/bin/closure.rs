flowlog_peer::program!(
    "closure", 2,
    [
        insert_edge remove_edge (i32, i32) => |row| Some((row.0, row.1))
    ],
    [
        path "path" => |f: (i32, i32)| vec![f.0, f.1, 0]
    ]
);
