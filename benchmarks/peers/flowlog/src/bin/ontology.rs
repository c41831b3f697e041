flowlog_peer::program!(
    "ontology", 4,
    [
        insert_ismainclass remove_ismainclass (i32,) => |row| (row.0 == 0).then_some((row.1,)),
        insert_issubclass remove_issubclass (i32,) => |row| (row.0 == 1).then_some((row.1,)),
        insert_conj remove_conj (i32, i32, i32) => |row| (row.0 == 2).then_some((row.1, row.2, row.3)),
        insert_exists remove_exists (i32, i32, i32) => |row| (row.0 == 3).then_some((row.1, row.2, row.3)),
        insert_subclassof remove_subclassof (i32, i32) => |row| (row.0 == 4).then_some((row.1, row.2)),
        insert_subprop remove_subprop (i32, i32) => |row| (row.0 == 5).then_some((row.1, row.2)),
        insert_subpropchain remove_subpropchain (i32, i32, i32) => |row| (row.0 == 6).then_some((row.1, row.2, row.3))
    ],
    [
        init "init" => |f: (i32,)| vec![f.0, 0, 0],
        subsumedby "subsumedBy" => |f: (i32, i32)| vec![f.0, f.1, 0],
        related "related" => |f: (i32, i32, i32)| vec![f.0, f.1, f.2],
        mainsubclassof "mainSubClassOf" => |f: (i32, i32)| vec![f.0, f.1, 0]
    ]
);
