import CSQLite
import ParseProtocol

/// SQL functions on geographic points.
enum GeoFunctions {
    /// The limit lives as long as the connection.
    static func register(on handle: OpaquePointer, _ limit: TimeLimit) {
        func add(
            _ name: String, _ count: Int32, _ handle: OpaquePointer, _ run: @escaping (OpaquePointer?, Values) -> Void
        ) {
            Self.add(name, count, handle) { [unowned limit] context, values in
                guard limit.admitsCall() else { return sqlite3_result_error_code(context, SQLITE_INTERRUPT) }
                run(context, values)
            }
        }
        GeoIndex.register(on: handle)
        // satchel_axis(axis 0 to 2, latitude, longitude): a coordinate in space; NULL without a place.
        add("satchel_axis", 3, handle) { context, values in
            let axis = sqlite3_value_int64(values[0])
            guard (0...2).contains(axis), let point = point(values[1], values[2]) else {
                return sqlite3_result_null(context)
            }
            sqlite3_result_double(context, point.inSpace[Int(axis)])
        }
        // satchel_chord(radians): converts an angle for satchel_near. NULL (the distance of the farthest point where
        // there are no points) becomes -1, which matches nothing.
        add("satchel_chord", 1, handle) { context, values in
            let isAngle = sqlite3_value_type(values[0]) != SQLITE_NULL
            sqlite3_result_double(context, isAngle ? GeoPoint.chord(sqlite3_value_double(values[0])) : -1)
        }
        // satchel_distance(latitude, longitude, latitude, longitude): radians; NULL without both places.
        add("satchel_distance", 4, handle) { context, values in
            guard let start = point(values[0], values[1]), let end = point(values[2], values[3]) else {
                return sqlite3_result_null(context)
            }
            sqlite3_result_double(context, start.radians(to: end))
        }
        // satchel_in_box(south, north, west, width, latitude, longitude)
        add("satchel_in_box", 6, handle) { context, values in
            let sides = (0..<4).map { sqlite3_value_double(values[$0]) }
            let box = GeoBox(south: sides[0], north: sides[1], west: sides[2], width: sides[3])
            sqlite3_result_int(context, point(values[4], values[5]).map(box.contains) == true ? 1 : 0)
        }
        // satchel_in_polygon(coordinates as JSON, latitude, longitude)
        add("satchel_in_polygon", 3, handle) { context, values in
            guard let point = point(values[1], values[2]), let polygon = polygon(values[0], context) else {
                return sqlite3_result_int(context, 0)
            }
            sqlite3_result_int(context, polygon.contains(point) ? 1 : 0)
        }
    }

    private typealias Values = UnsafeMutablePointer<OpaquePointer?>

    /// A function's body, kept by SQLite for as long as the connection is open.
    private final class Body {
        let run: (OpaquePointer?, Values) -> Void
        init(_ run: @escaping (OpaquePointer?, Values) -> Void) { self.run = run }
    }

    private static func add(
        _ name: String, _ count: Int32, _ handle: OpaquePointer, _ run: @escaping (OpaquePointer?, Values) -> Void
    ) {
        sqlite3_create_function_v2(
            handle, name, count, SQLITE_UTF8 | SQLITE_DETERMINISTIC, Unmanaged.passRetained(Body(run)).toOpaque(),
            { context, _, values in
                guard let values, let body = sqlite3_user_data(context) else { return sqlite3_result_null(context) }
                Unmanaged<Body>.fromOpaque(body).takeUnretainedValue().run(context, values)
            }, nil, nil, { body in if let body { Unmanaged<Body>.fromOpaque(body).release() } })
    }

    private static func point(_ latitude: OpaquePointer?, _ longitude: OpaquePointer?) -> GeoPoint? {
        let numbers = [SQLITE_INTEGER, SQLITE_FLOAT]
        guard numbers.contains(sqlite3_value_type(latitude)), numbers.contains(sqlite3_value_type(longitude)) else {
            return nil
        }
        return GeoPoint(latitude: sqlite3_value_double(latitude), longitude: sqlite3_value_double(longitude))
    }

    /// The polygon of a JSON text. SQLite keeps auxiliary data for an argument that is the same for all rows, so the
    /// polygon of a query is decoded once (https://www.sqlite.org/c3ref/get_auxdata.html).
    private static func polygon(_ text: OpaquePointer?, _ context: OpaquePointer?) -> GeoPolygon? {
        if let kept = sqlite3_get_auxdata(context, 0) {
            return Unmanaged<GeoPolygon>.fromOpaque(kept).takeUnretainedValue()
        }
        guard let start = sqlite3_value_text(text) else { return nil }
        let bytes = Array(UnsafeBufferPointer(start: start, count: Int(sqlite3_value_bytes(text))))
        guard let coordinates = try? JSON(parsing: bytes), let polygon = GeoPolygon(coordinates: coordinates) else {
            return nil
        }
        sqlite3_set_auxdata(
            context, 0, Unmanaged.passRetained(polygon).toOpaque(),
            { kept in if let kept { Unmanaged<GeoPolygon>.fromOpaque(kept).release() } })
        return polygon
    }
}
