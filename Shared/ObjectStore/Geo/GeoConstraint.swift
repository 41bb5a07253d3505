import ParseProtocol

/// `$within`, `$geoWithin` and `$geoIntersects` (PARSE_PROTOCOL section 4.1).
extension QuerySubject {
    /// - Throws: `.invalidJSON` (107) for a malformed area, `.invalidQuery` (102) for a field inside an Object.
    func geo(_ name: String, _ raw: JSON, _ compiler: inout ConditionCompiler) throws -> String {
        try requireWholeField(name)
        switch (name, raw.objectValue?.keys.first, raw.objectValue?.count) {
        case ("$within", "$box", 1): return try within(GeoConstraint.box(raw["$box"]), &compiler)
        case ("$geoWithin", "$polygon", 1): return try within(GeoConstraint.polygon(raw["$polygon"]), &compiler)
        case ("$geoWithin", "$centerSphere", 1):
            let (center, radians) = try GeoConstraint.circle(raw["$centerSphere"])
            guard kind == .json(.geoPoint) else { return "FALSE" }
            let near = NearPoint(center, place, &compiler)
            let limit = compiler.bind(number: radians)
            return compiler.found(near.candidates(info, row: row, within: limit), and: "\(near.distance)<=\(limit)")
        case ("$geoIntersects", "$point", 1):
            guard let point = raw["$point"].flatMap(GeoPoint.init) else {
                throw ParseError(.invalidJSON, "bad $geoIntersect value; $point should be GeoPoint")
            }
            guard kind == .json(.polygon) else { return "FALSE" }
            let place = compiler.bind(point).arguments
            let corners = info.dialect.value(path, appending: "coordinates", as: .json, in: document)
            return "satchel_in_polygon(\(corners),\(place))"
        default: throw ParseError(.invalidJSON, "bad \(name) value")
        }
    }

    /// Points inside an Object are not indexed, and Parse Server does not search them either.
    func requireWholeField(_ name: String) throws {
        var isInside = path.isDotted
        if case .elements = kind { isInside = true }
        if kind == .untyped { isInside = true }
        if isInside { throw ParseError(.invalidQuery, "\(name) is not possible inside an Object.") }
    }

    /// The stored GeoPoint.
    var place: SQLPlace { info.dialect.place(path, in: document) }

    private func within(_ box: GeoBox, _ compiler: inout ConditionCompiler) throws -> String {
        guard kind == .json(.geoPoint) else { return "FALSE" }
        let candidates = GeoIndex.candidates(in: box, self, &compiler)
        let sides = [box.south, box.north, box.west, box.width].map { compiler.bind(number: $0) }
        return compiler.found(candidates, and: "satchel_in_box(\(sides.joined(separator: ",")),\(place.arguments))")
    }

    private func within(_ corners: [GeoPoint], _ compiler: inout ConditionCompiler) throws -> String {
        guard let polygon = GeoPolygon(corners: corners) else { throw GeoConstraint.tooFewCorners }
        guard kind == .json(.geoPoint) else { return "FALSE" }
        let coordinates = JSON.array(corners.map { [JSON(number: $0.latitude), JSON(number: $0.longitude)] })
        let candidates = GeoIndex.candidates(in: polygon.box, self, &compiler)
        let area = compiler.bind(.text(coordinates.serializedText), as: .json)
        return compiler.found(candidates, and: "satchel_in_polygon(\(area),\(place.arguments))")
    }
}

extension ConditionCompiler {
    /// Binds a point.
    mutating func bind(_ point: GeoPoint) -> SQLPlace {
        let latitude = bind(number: point.latitude)
        return SQLPlace(latitude: latitude, longitude: bind(number: point.longitude))
    }
}

/// Parses the areas of queries.
enum GeoConstraint {
    static let tooFewCorners = ParseError(
        .invalidJSON, "bad $geoWithin value; $polygon should contain at least 3 GeoPoints")

    /// Any two opposite corners, in any order. As in MongoDB, whose results clients expect, a box never crosses the
    /// 180° meridian; a polygon may.
    static func box(_ raw: JSON?) throws -> GeoBox {
        guard let corners = raw?.arrayValue, corners.count == 2, let one = GeoPoint(corners[0]),
            let other = GeoPoint(corners[1])
        else { throw ParseError(.invalidJSON, "bad $box value; it should be two GeoPoints, southwest and northeast") }
        return GeoBox(one, other)
    }

    /// A list of GeoPoints or of [longitude, latitude] pairs, as Parse Server reads them; or a Polygon, whose pairs are
    /// [latitude, longitude].
    static func polygon(_ raw: JSON?) throws -> [GeoPoint] {
        let isValue = raw?.wireType == "Polygon"
        guard let items = isValue ? raw?["coordinates"]?.arrayValue : raw?.arrayValue else {
            throw ParseError(
                .invalidJSON, "bad $geoWithin value; $polygon should be Polygon object or Array of Parse.GeoPoint's")
        }
        guard items.count >= 3 else { throw tooFewCorners }
        guard items.count <= GeoPolygon.cornersMax else {
            throw ParseError(.invalidQuery, "A $polygon may have at most \(GeoPolygon.cornersMax) corners.")
        }
        return try items.map { item in
            guard let corner = isValue ? pair(item, latitudeAt: 0) : GeoPoint(item) ?? pair(item, latitudeAt: 1) else {
                throw ParseError(.invalidJSON, "bad $geoWithin value; a corner of $polygon is not a valid GeoPoint")
            }
            return corner
        }
    }

    static func circle(_ raw: JSON?) throws -> (center: GeoPoint, radians: Double) {
        guard let parts = raw?.arrayValue, parts.count == 2,
            let center = GeoPoint(parts[0]) ?? pair(parts[0], latitudeAt: 1)
        else {
            throw ParseError(
                .invalidJSON, "bad $geoWithin value; $centerSphere should be an array of Parse.GeoPoint and distance")
        }
        return (center, try distance(parts[1], "$centerSphere"))
    }

    /// - Throws: `.invalidJSON` (107) unless it is a finite number of at least 0.
    static func distance(_ raw: JSON, _ name: String) throws -> Double {
        guard let number = raw.doubleValue, number >= 0, number.isFinite else {
            throw ParseError(.invalidJSON, "bad \(name) value; the distance should be a number from 0")
        }
        return number
    }

    private static func pair(_ raw: JSON, latitudeAt index: Int) -> GeoPoint? {
        guard let numbers = raw.arrayValue?.compactMap(\.doubleValue), numbers.count == 2, raw.arrayValue?.count == 2
        else { return nil }
        return GeoPoint(latitude: numbers[index], longitude: numbers[1 - index])
    }
}
