flowlog_peer::program!(
    "rho_df", 3,
    [
        insert_given remove_given (i32, i32, i32) => |row| Some((row.0, row.1, row.2))
    ],
    [
        triple "triple" => |f: (i32, i32, i32)| vec![f.0, f.1, f.2]
    ]
);
