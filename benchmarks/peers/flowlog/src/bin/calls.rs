flowlog_peer::program!(
    "calls", 4,
    [
        insert_main remove_main (i32,) => |row| (row.0 == 0).then_some((row.1,)),
        insert_extends remove_extends (i32, i32) => |row| (row.0 == 1).then_some((row.1, row.2)),
        insert_implements remove_implements (i32, i32, i32) => |row| (row.0 == 2).then_some((row.1, row.2, row.3)),
        insert_within remove_within (i32, i32) => |row| (row.0 == 3).then_some((row.1, row.2)),
        insert_alloc remove_alloc (i32, i32) => |row| (row.0 == 4).then_some((row.1, row.2)),
        insert_typed remove_typed (i32, i32) => |row| (row.0 == 5).then_some((row.1, row.2)),
        insert_copy remove_copy (i32, i32) => |row| (row.0 == 6).then_some((row.1, row.2)),
        insert_cast remove_cast (i32, i32, i32) => |row| (row.0 == 7).then_some((row.1, row.2, row.3)),
        insert_read remove_read (i32, i32, i32) => |row| (row.0 == 8).then_some((row.1, row.2, row.3)),
        insert_write remove_write (i32, i32, i32) => |row| (row.0 == 9).then_some((row.1, row.2, row.3)),
        insert_virtual remove_virtual (i32, i32, i32) => |row| (row.0 == 10).then_some((row.1, row.2, row.3)),
        insert_static remove_static (i32, i32) => |row| (row.0 == 11).then_some((row.1, row.2)),
        insert_formal remove_formal (i32, i32, i32) => |row| (row.0 == 12).then_some((row.1, row.2, row.3)),
        insert_actual remove_actual (i32, i32, i32) => |row| (row.0 == 13).then_some((row.1, row.2, row.3)),
        insert_this remove_this (i32, i32) => |row| (row.0 == 14).then_some((row.1, row.2)),
        insert_returns remove_returns (i32, i32) => |row| (row.0 == 15).then_some((row.1, row.2)),
        insert_assigned remove_assigned (i32, i32) => |row| (row.0 == 16).then_some((row.1, row.2))
    ],
    [
        points "points" => |f: (i32, i32)| vec![f.0, f.1, 0],
        stored "stored" => |f: (i32, i32, i32)| vec![f.0, f.1, f.2],
        calls "calls" => |f: (i32, i32)| vec![f.0, f.1, 0],
        reachable "reachable" => |f: (i32,)| vec![f.0, 0, 0]
    ]
);
