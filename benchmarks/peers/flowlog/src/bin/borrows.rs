flowlog_peer::program!(
    "borrows", 4,
    [
        insert_edge remove_edge (i32, i32) => |row| (row.0 == 0).then_some((row.1, row.2)),
        insert_subsetbase remove_subsetbase (i32, i32, i32) => |row| (row.0 == 1).then_some((row.1, row.2, row.3)),
        insert_issued remove_issued (i32, i32, i32) => |row| (row.0 == 2).then_some((row.1, row.2, row.3)),
        insert_killed remove_killed (i32, i32) => |row| (row.0 == 3).then_some((row.1, row.2)),
        insert_invalidated remove_invalidated (i32, i32) => |row| (row.0 == 4).then_some((row.1, row.2)),
        insert_used remove_used (i32, i32) => |row| (row.0 == 5).then_some((row.1, row.2)),
        insert_defined remove_defined (i32, i32) => |row| (row.0 == 6).then_some((row.1, row.2)),
        insert_dropped remove_dropped (i32, i32) => |row| (row.0 == 7).then_some((row.1, row.2)),
        insert_usesorigin remove_usesorigin (i32, i32) => |row| (row.0 == 8).then_some((row.1, row.2)),
        insert_dropsorigin remove_dropsorigin (i32, i32) => |row| (row.0 == 9).then_some((row.1, row.2)),
        insert_childpath remove_childpath (i32, i32) => |row| (row.0 == 10).then_some((row.1, row.2)),
        insert_pathofvar remove_pathofvar (i32, i32) => |row| (row.0 == 11).then_some((row.1, row.2)),
        insert_assignedbase remove_assignedbase (i32, i32) => |row| (row.0 == 12).then_some((row.1, row.2)),
        insert_movedbase remove_movedbase (i32, i32) => |row| (row.0 == 13).then_some((row.1, row.2)),
        insert_accessedbase remove_accessedbase (i32, i32) => |row| (row.0 == 14).then_some((row.1, row.2)),
        insert_universal remove_universal (i32,) => |row| (row.0 == 15).then_some((row.1,)),
        insert_knownbase remove_knownbase (i32, i32) => |row| (row.0 == 16).then_some((row.1, row.2))
    ],
    [
        originlive "originLive" => |f: (i32, i32)| vec![f.0, f.1, 0],
        subset "subset" => |f: (i32, i32, i32)| vec![f.0, f.1, f.2],
        holds "holds" => |f: (i32, i32, i32)| vec![f.0, f.1, f.2],
        loanlive "loanLive" => |f: (i32, i32)| vec![f.0, f.1, 0],
        error "error" => |f: (i32, i32)| vec![f.0, f.1, 0],
        subseterror "subsetError" => |f: (i32, i32, i32)| vec![f.0, f.1, f.2],
        moveerror "moveError" => |f: (i32, i32)| vec![f.0, f.1, 0]
    ]
);
