flowlog_peer::program!(
    "sssp", 3,
    [
        insert_edge remove_edge (i32, i32, i32) => |row| Some((row.0, row.1, row.2))
    ],
    [
        dist "dist" => |f: (i32, i32)| vec![f.0, f.1, 0]
    ]
);
