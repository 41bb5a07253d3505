import Foundation
import ParseProtocol

/// A place on the globe, in degrees.
struct Place {
    let latitude: Double
    let longitude: Double

    init?(_ value: JSON) {
        guard value.wireType == "GeoPoint", let latitude = value["latitude"]?.doubleValue,
            let longitude = value["longitude"]?.doubleValue, latitude.magnitude <= 90, longitude.magnitude <= 180
        else { return nil }
        (self.latitude, self.longitude) = (latitude, longitude)
    }

    /// The angle between two places seen from the earth's centre, computed from direction vectors.
    func radians(to other: Place) -> Double {
        let (a, b) = (direction, other.direction)
        let cross = [a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]]
        let sine = (cross[0] * cross[0] + cross[1] * cross[1] + cross[2] * cross[2]).squareRoot()
        return atan2(sine, a[0] * b[0] + a[1] * b[1] + a[2] * b[2])
    }

    private var direction: [Double] {
        let (north, east) = (latitude / 180 * .pi, longitude / 180 * .pi)
        return [cos(north) * cos(east), cos(north) * sin(east), sin(north)]
    }
}

/// The area of a geo constraint. Test areas are far from the poles and, except for circles, from the 180-degree
/// meridian.
struct Area {
    let contains: (JSON) -> Bool

    /// - Throws: `Evaluator.Refused`.
    init(_ name: String, _ raw: JSON, _ siblings: [String: JSON], isTop: Bool) throws {
        switch name {
        case "$nearSphere":
            guard let center = Place(raw) else { throw Evaluator.Refused.json }
            guard isTop else { throw Evaluator.Refused.query }
            let limit = try NearSearch.limit(siblings)
            contains = { Place($0).map { $0.radians(to: center) <= limit } ?? false }
        case "$within":
            guard let corners = raw["$box"]?.arrayValue?.map(Place.init), corners.count == 2,
                let one = corners[0], let other = corners[1]
            else { throw Evaluator.Refused.json }
            func isBetween(_ value: Double, _ a: Double, _ b: Double) -> Bool {
                (min(a, b)...max(a, b)).contains(value)
            }
            contains = { value in
                guard let place = Place(value) else { return false }
                return isBetween(place.latitude, one.latitude, other.latitude)
                    && isBetween(place.longitude, one.longitude, other.longitude)
            }
        case "$geoWithin" where raw["$centerSphere"] != nil:
            guard let parts = raw["$centerSphere"]?.arrayValue, parts.count == 2, let center = Place(parts[0]),
                let radius = parts[1].doubleValue
            else { throw Evaluator.Refused.json }
            contains = { Place($0).map { $0.radians(to: center) <= radius } ?? false }
        case "$geoWithin":
            let items = raw["$polygon"]?["coordinates"]?.arrayValue ?? raw["$polygon"]?.arrayValue ?? []
            let corners = items.compactMap { Place($0).map { ($0.latitude, $0.longitude) } ?? Self.pair($0) }
            guard corners.count >= 3, corners.count == items.count else { throw Evaluator.Refused.json }
            contains = { Place($0).map { Self.isInside($0, corners) } ?? false }
        default:
            guard let place = raw["$point"].flatMap(Place.init) else { throw Evaluator.Refused.json }
            contains = { value in
                guard value.wireType == "Polygon", let corners = value["coordinates"]?.arrayValue?.compactMap(Self.pair)
                else {
                    return false
                }
                return Self.isInside(place, corners)
            }
        }
    }

    private static func pair(_ value: JSON) -> (Double, Double)? {
        guard let numbers = value.arrayValue?.compactMap(\.doubleValue), numbers.count == 2 else { return nil }
        return (numbers[0], numbers[1])
    }

    /// Counts the polygon's edges to the east of the place on a flat map.
    private static func isInside(_ place: Place, _ corners: [(Double, Double)]) -> Bool {
        var isInside = false
        for (a, b) in zip(corners, corners.dropFirst() + [corners[0]])
        where (a.0 > place.latitude) != (b.0 > place.latitude) {
            if place.longitude < a.1 + (b.1 - a.1) * (place.latitude - a.0) / (b.0 - a.0) { isInside.toggle() }
        }
        return isInside
    }
}

/// The top-level `$nearSphere` of a query, which orders the results.
struct NearSearch {
    let key: String
    let center: Place

    init?(_ condition: JSON) {
        for (key, value) in condition.objectValue ?? [:] {
            if let center = value["$nearSphere"].flatMap(Place.init) {
                self.key = key
                self.center = center
                return
            }
        }
        return nil
    }

    func distance(of document: JSON) -> Double { document[key].flatMap(Place.init)?.radians(to: center) ?? 0 }

    /// The maximum distance in radians; half the earth's circumference excludes nothing.
    static func limit(_ siblings: [String: JSON]) throws -> Double {
        let units = [
            "$maxDistance": 1, "$maxDistanceInRadians": 1, "$maxDistanceInMiles": 3959,
            "$maxDistanceInKilometers": 6371.0,
        ]
        var limit = 4.0
        for (name, unit) in units {
            guard let given = siblings[name] else { continue }
            guard let distance = given.doubleValue, distance >= 0 else { throw Evaluator.Refused.json }
            limit = min(limit, distance / unit)
        }
        return limit
    }
}
