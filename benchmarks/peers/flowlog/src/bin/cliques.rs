flowlog_peer::program!(
    "cliques", 3,
    [
        insert_edge remove_edge (i32, i32, i32) => |row| Some((row.0, row.1, row.2))
    ],
    [
        clique "clique" => |f: (i32, i32, i32, i32)| vec![f.0, f.1, f.2, f.3]
    ]
);
