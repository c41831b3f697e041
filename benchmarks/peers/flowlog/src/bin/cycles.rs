flowlog_peer::program!(
    "cycles", 2,
    [
        insert_edge remove_edge (i32, i32) => |row| Some((row.0, row.1))
    ],
    [
        cycle "cycle" => |f: (i32, i32, i32, i32)| vec![f.0, f.1, f.2, f.3]
    ]
);
