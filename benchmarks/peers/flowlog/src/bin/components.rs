flowlog_peer::program!(
    "components", 3,
    [
        insert_edge remove_edge (i32, i32, i32) => Some
    ],
    [
        component "component" => |f: (i32, i32)| vec![f.0, f.1, 0]
    ]
);
