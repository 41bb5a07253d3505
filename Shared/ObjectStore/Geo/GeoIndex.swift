import ParseProtocol

/// An R*Tree over the GeoPoint field of a class, `g<id>`, which the writer updates with the objects
/// (https://www.sqlite.org/rtree.html). It stores 3-D points (`GeoPoint.inSpace`), so the poles and the 180° meridian
/// need no special case. It finds candidates; the coordinates in the document decide.
///
/// In PostgreSQL it is an index of the class's own table, of places on the map (`PostgreSQLFunctions`). The engine
/// maintains it.
enum GeoIndex {
    /// The maximum rounding error of a coordinate. The tree itself stores 32-bit numbers and rounds them outward.
    static let tolerance = 1e-9

    static func table(_ info: ClassInfo) -> String { "g\(info.id)" }

    static func exists(_ info: ClassInfo, _ connection: any StoreConnection) throws -> Bool {
        let name = table(info)
        guard connection.dialect != .sqlite else { return try connection.hasTable(name) }
        return try connection.indexNames(of: name).contains(name)
    }

    /// Creates the index with the points of all stored objects.
    /// - Parameter isNew: whether the class just got the field. Then no object has a point, so SQLite reads none.
    static func create(
        _ info: ClassInfo, ofNewField isNew: Bool = false, _ connection: any StoreConnection
    ) throws {
        guard let field = info.geoField else { return }
        let place = try info.dialect.place(FieldPath(field), in: "doc")
        if let server = connection as? PostgreSQLStoreConnection {
            try drop(info, connection)
            return try server.createIndex(
                table(info), of: table(info), "ON o\(info.id) USING gist ((\(place.point)))")
        }
        // Removes the index of an earlier class with the same number, if one remains.
        try connection.executeOnce(
            """
            DROP TABLE IF EXISTS \(table(info));
            CREATE VIRTUAL TABLE \(table(info)) USING rtree(id, x0, x1, y0, y1, z0, z1);
            """)
        guard !isNew else { return }
        try connection.executeOnce(
            """
            INSERT INTO \(table(info)) SELECT id, x, x, y, y, z, z FROM (
                SELECT id, satchel_axis(0, \(place.arguments)) x, satchel_axis(1, \(place.arguments)) y, \
                satchel_axis(2, \(place.arguments)) z \
                FROM o\(info.id))
            WHERE x IS NOT NULL;
            """)
    }

    static func drop(_ info: ClassInfo, _ connection: any StoreConnection) throws {
        guard connection.dialect == .sqlite else { return try connection.dropIndex(table(info)) }
        try connection.executeOnce("DROP TABLE IF EXISTS \(table(info))")
    }

    /// Updates the index after a change of one object; nil for an object that does not exist before or after.
    static func update(
        _ info: ClassInfo, row: Int64, from before: JSON?, to after: JSON?, _ connection: any StoreConnection
    ) throws {
        guard let field = info.geoField, connection.dialect == .sqlite else { return }
        let old = before?[field].flatMap(GeoPoint.init)
        let new = after?[field].flatMap(GeoPoint.init)
        guard old != new else { return }
        if old != nil { try remove(info, row: row, connection) }
        guard let axes = new?.inSpace else { return }
        try connection.execute(
            "INSERT OR REPLACE INTO \(table(info))(id, x0, x1, y0, y1, z0, z1) VALUES(?1, ?2, ?2, ?3, ?3, ?4, ?4)",
            [.int(row)] + axes.map(SQLValue.real))
    }

    static func remove(_ info: ClassInfo, row: Int64, _ connection: any StoreConnection) throws {
        guard info.geoField != nil, connection.dialect == .sqlite else { return }
        try connection.execute("DELETE FROM \(table(info)) WHERE id = ?", [.int(row)])
    }

    // MARK: Queries

    /// The condition that a row's point may be in a box.
    static func candidates(
        in box: GeoBox, _ subject: QuerySubject, _ compiler: inout ConditionCompiler
    ) -> String {
        let (info, row) = (subject.info, subject.row)
        guard info.dialect == .sqlite else {
            let corners = [box.onMap.low, box.onMap.high].map { corner in
                SQLPlace(
                    latitude: compiler.bind(number: corner.latitude),
                    longitude: compiler.bind(number: corner.longitude))
            }
            return "\(subject.place.point) <@ box(\(corners.map(\.point).joined(separator: ",")))"
        }
        let bounds = zip(["x", "y", "z"], box.inSpace).map { axis, bounds in
            "\(axis)1>=\(compiler.bind(number: bounds.lower)) AND \(axis)0<=\(compiler.bind(number: bounds.upper))"
        }
        return "\(row).id IN (SELECT id FROM \(table(info)) WHERE \(bounds.joined(separator: " AND ")))"
    }
}

extension ClassInfo {
    /// The field with the points of objects; a class has at most one.
    var geoField: String? { fields.first { $0.value == .geoPoint }?.key }
}
