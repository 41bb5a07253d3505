import ParseProtocol

/// An area on the globe. Its edges are straight in latitude and longitude, as on maps.
///
/// An edge takes the shorter direction around the globe, so a polygon may cross the 180° meridian. Only an edge from
/// -180 to 180 spans the whole globe. A polygon around a pole contains the pole of the hemisphere with most of its
/// corners.
final class GeoPolygon {
    private struct Edge {
        let west: Double
        /// Degrees eastward to the eastern end.
        let width: Double
        let westLatitude: Double
        let eastLatitude: Double
    }

    private let edges: [Edge]
    private let holdsNorthPole: Bool
    /// A bounding box.
    let box: GeoBox

    /// Limit of a query polygon's corners: each costs time per checked object.
    static let cornersMax = 1000

    /// - Parameter coordinates: [latitude, longitude] pairs, at least three different ones; closed or not.
    /// - Returns: nil for anything else.
    convenience init?(coordinates: JSON) {
        guard case .array(let pairs) = coordinates else { return nil }
        var corners: [GeoPoint] = []
        for pair in pairs {
            guard case .array(let numbers) = pair, numbers.count == 2, let latitude = numbers[0].doubleValue,
                let longitude = numbers[1].doubleValue,
                let corner = GeoPoint(latitude: latitude, longitude: longitude)
            else { return nil }
            corners.append(corner)
        }
        self.init(corners: corners)
    }

    init?(corners: [GeoPoint]) {
        guard Set(corners).count >= 3, let first = corners.first else { return nil }
        var edges: [Edge] = []
        var turned = 0.0  // Degrees east of the first corner, not normalized to -180...180.
        var extent = (west: 0.0, east: 0.0)
        for (start, end) in zip(corners, corners.dropFirst() + [first]) {
            var step = end.longitude - start.longitude
            if step.magnitude > 180, step.magnitude < 360 { step -= step > 0 ? 360 : -360 }
            turned += step
            extent = (min(extent.west, turned), max(extent.east, turned))
            let (west, east) = step < 0 ? (end, start) : (start, end)
            edges.append(
                Edge(
                    west: west.longitude, width: step.magnitude, westLatitude: west.latitude,
                    eastLatitude: east.latitude))
        }
        self.edges = edges
        // A polygon whose edges go around the globe encloses a pole.
        let holdsPole = turned.magnitude > 180
        let isNorthern = corners.reduce(0) { $0 + $1.latitude } > 0
        holdsNorthPole = holdsPole && isNorthern
        let latitudes = corners.map(\.latitude)
        box = GeoBox(
            south: holdsPole && !isNorthern ? -90 : latitudes.min() ?? -90,
            north: holdsNorthPole ? 90 : latitudes.max() ?? 90, west: first.longitude + extent.west,
            width: min(360, extent.east - extent.west))
    }

    /// Whether the point is in the polygon, by the number of edges north of it. The edges belong to the polygon.
    func contains(_ point: GeoPoint) -> Bool {
        var isInside = holdsNorthPole
        for edge in edges {
            let turn = GeoBox.turn(from: edge.west, to: point.longitude)
            if edge.width == 0 {
                let low = min(edge.westLatitude, edge.eastLatitude)
                if turn == 0, point.latitude >= low, point.latitude <= max(edge.westLatitude, edge.eastLatitude) {
                    return true
                }
                continue
            }
            guard turn <= edge.width else { continue }
            let latitude = edge.westLatitude + (edge.eastLatitude - edge.westLatitude) * (turn / edge.width)
            if latitude == point.latitude { return true }
            // Each edge includes its western end; its eastern end belongs to the next edge.
            if turn < edge.width, latitude > point.latitude { isInside.toggle() }
        }
        return isInside
    }
}
