import Foundation
import ParseProtocol

/// A geographic point.
public struct GeoPoint: Sendable, Hashable {
    /// Degrees north, -90 to 90.
    public let latitude: Double
    /// Degrees east, -180 to 180.
    public let longitude: Double

    /// The radius with which Parse converts kilometres to radians.
    public static let earthKilometers = 6371.0
    /// The radius with which Parse converts miles to radians.
    public static let earthMiles = 3959.0

    /// Nil when a coordinate is out of its range.
    public init?(latitude: Double, longitude: Double) {
        guard latitude.magnitude <= 90, longitude.magnitude <= 180 else { return nil }
        self.latitude = latitude
        self.longitude = longitude
    }

    /// Nil for anything but a valid `{"__type":"GeoPoint","latitude":…,"longitude":…}`.
    public init?(_ wire: JSON) {
        guard wire.wireType == "GeoPoint", let latitude = wire["latitude"]?.doubleValue,
            let longitude = wire["longitude"]?.doubleValue
        else { return nil }
        self.init(latitude: latitude, longitude: longitude)
    }

    /// The wire form, `{"__type":"GeoPoint","latitude":…,"longitude":…}`.
    public var wire: JSON {
        ["__type": "GeoPoint", "latitude": JSON(number: latitude), "longitude": JSON(number: longitude)]
    }

    /// The central angle between two points, 0 to π. The haversine formula is precise even for points close together.
    public func radians(to other: GeoPoint) -> Double {
        let rise = sin((other.latitude - latitude) * .pi / 360)
        let turn = sin((other.longitude - longitude) * .pi / 360)
        let share = rise * rise + cos(latitude * .pi / 180) * cos(other.latitude * .pi / 180) * turn * turn
        return 2 * atan2(share.squareRoot(), max(0, 1 - share).squareRoot())
    }

    /// The distance along the ground in kilometres, on a globe of radius `earthKilometers`.
    public func kilometers(to other: GeoPoint) -> Double { radians(to: other) * GeoPoint.earthKilometers }

    /// The point on the unit sphere. In 3-D space there is neither a pole nor a date line: points close on the globe
    /// are close in all three coordinates.
    var inSpace: [Double] {
        let (north, east) = (latitude * .pi / 180, longitude * .pi / 180)
        return [cos(north) * cos(east), cos(north) * sin(east), sin(north)]
    }

    /// The length of the chord between points `radians` apart on the unit sphere; negative for a negative angle.
    static func chord(_ radians: Double) -> Double { 2 * sin(min(radians, .pi) / 2) }
}
