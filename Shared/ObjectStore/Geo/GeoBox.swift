import Foundation

/// The area between two latitudes and two longitudes. It may cross the 180° meridian.
struct GeoBox {
    let south: Double
    let north: Double
    let west: Double
    /// Degrees eastward from the western side to the eastern side, 0 to 360.
    let width: Double

    init(south: Double, north: Double, west: Double, width: Double) {
        self.south = south
        self.north = north
        self.west = west
        self.width = width
    }

    /// The box between two opposite corners that does not cross the 180° meridian.
    init(_ one: GeoPoint, _ other: GeoPoint) {
        self.init(
            south: min(one.latitude, other.latitude), north: max(one.latitude, other.latitude),
            west: min(one.longitude, other.longitude), width: (one.longitude - other.longitude).magnitude)
    }

    /// Degrees from `west` eastward to a longitude, at least 0 and below 360.
    static func turn(from west: Double, to longitude: Double) -> Double {
        let turn = (longitude - west).truncatingRemainder(dividingBy: 360)
        return turn < 0 ? turn + 360 : turn
    }

    /// Whether the point is in the box. The sides belong to the box. A pole has every longitude.
    func contains(_ point: GeoPoint) -> Bool {
        guard (south...max(south, north)).contains(point.latitude), south <= north else { return false }
        return width >= 360 || point.latitude.magnitude == 90
            || GeoBox.turn(from: west, to: point.longitude) <= width
    }

    /// The bounds of the box's points in 3-D space, lower and upper by axis.
    var inSpace: [(lower: Double, upper: Double)] {
        let radii = [cos(south * .pi / 180), cos(north * .pi / 180)].map { max(0, $0) }
        let inner = radii.min() ?? 0
        let outer = south <= 0 && north >= 0 ? 1 : radii.max() ?? 1
        func axis(_ peak: Double) -> (lower: Double, upper: Double) {
            let ends = [west, west + width].map { cos(($0 - peak) * .pi / 180) }
            let low = includes(peak + 180) ? -1 : ends.min() ?? -1
            let high = includes(peak) ? 1 : ends.max() ?? 1
            return (min(inner * low, outer * low), max(inner * high, outer * high))
        }
        let height = (sin(south * .pi / 180), sin(north * .pi / 180))
        return [axis(0), axis(90), height].map { ($0.0 - GeoIndex.tolerance, $0.1 + GeoIndex.tolerance) }
    }

    /// The corners of a box in latitude and longitude that contains all points of this one. It spans all longitudes if
    /// this box contains a pole or touches the 180° meridian.
    var onMap: (low: (latitude: Double, longitude: Double), high: (latitude: Double, longitude: Double)) {
        let isWhole = south <= -90 || north >= 90 || west <= -180 || west + width >= 180
        let (start, end) = isWhole ? (-180, 180) : (west, west + width)
        let room = GeoIndex.tolerance
        return ((south - room, start - room), (north + room, end + room))
    }

    private func includes(_ longitude: Double) -> Bool { GeoBox.turn(from: west, to: longitude) <= width }
}
