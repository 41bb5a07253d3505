import Foundation
import ObjectStore
import ParseProtocol
import Testing

/// Compares thousands of random places and hundreds of random queries with a slow, simple evaluator that shares no code
/// with the store. The seed is fixed, so that failures can be reproduced.
@Suite struct GeoRandomTests {
    struct Place {
        let name: String
        let latitude: Double
        let longitude: Double
        let isOpen: Bool

        /// Uses the angle between vectors instead of the haversine formula.
        func radians(to other: (latitude: Double, longitude: Double)) -> Double {
            let (a, b) = (vector(latitude, longitude), vector(other.latitude, other.longitude))
            let cross = [a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]]
            return atan2(cross.reduce(0) { $0 + $1 * $1 }.squareRoot(), zip(a, b).reduce(0) { $0 + $1.0 * $1.1 })
        }

        private func vector(_ latitude: Double, _ longitude: Double) -> [Double] {
            let (north, east) = (latitude / 180 * .pi, longitude / 180 * .pi)
            return [cos(north) * cos(east), cos(north) * sin(east), sin(north)]
        }
    }

    /// SplitMix64, https://prng.di.unimi.it/splitmix64.c.
    struct Seeded: RandomNumberGenerator {
        var state: UInt64
        mutating func next() -> UInt64 {
            state &+= 0x9E37_79B9_7F4A_7C15
            var mixed = state
            mixed = (mixed ^ (mixed >> 30)) &* 0xBF58_476D_1CE4_E5B9
            mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
            return mixed ^ (mixed >> 31)
        }
    }

    /// Places everywhere, with many at the poles, near 180 degrees and in one town.
    static func places(_ random: inout Seeded) -> [Place] {
        (0..<3000).map { index in
            let (latitude, longitude): (Double, Double) =
                switch index % 6 {
                case 0: (.random(in: 88...90, using: &random), .random(in: -180...180, using: &random))
                case 1: (.random(in: -90 ... -88, using: &random), .random(in: -180...180, using: &random))
                case 2:
                    (
                        .random(in: -20...20, using: &random),
                        (Bool.random(using: &random) ? 1 : -1) * .random(in: 178...180, using: &random)
                    )
                case 3: (.random(in: 52.3...52.7, using: &random), .random(in: 13...13.8, using: &random))
                case 4:
                    (
                        [-90, 0, 90].randomElement(using: &random) ?? 0,
                        [-180, -90, 0, 180].randomElement(using: &random) ?? 0
                    )
                default: (.random(in: -90...90, using: &random), .random(in: -180...180, using: &random))
                }
            return Place(
                name: "p\(index)", latitude: latitude, longitude: longitude, isOpen: Bool.random(using: &random))
        }
    }

    static func filled(_ places: [Place]) async throws -> TestStore {
        let test = try await TestStore()
        _ = try await test.store.write { transaction in
            for place in places {
                _ = try transaction.create(
                    "Place",
                    [
                        "name": .string(place.name), "open": .bool(place.isOpen),
                        "at": GeoTests.point(place.latitude, place.longitude),
                    ], caller: .master)
            }
        }
        return test
    }

    static func center(_ places: [Place], _ random: inout Seeded) -> (latitude: Double, longitude: Double) {
        if let place = places.randomElement(using: &random), Int.random(in: 0..<3, using: &random) > 0 {
            return (min(90, max(-90, place.latitude + .random(in: -1...1, using: &random))), place.longitude)
        }
        return (.random(in: -90...90, using: &random), .random(in: -180...180, using: &random))
    }

    @Test func theNearestAreThoseOfASimpleSort() async throws {
        var random = Seeded(state: 1)
        let places = Self.places(&random)
        let byName = Dictionary(uniqueKeysWithValues: places.map { ($0.name, $0) })
        let test = try await Self.filled(places)
        for round in 0..<200 {
            let center = Self.center(places, &random)
            let radius = ([0.0001, 0.01, 0.3, 2, 4] as [Double]).randomElement(using: &random) ?? 1
            let (limit, skip) = (Int.random(in: 1...60, using: &random), Int.random(in: 0...40, using: &random))
            var near: JSON = ["$nearSphere": GeoTests.point(center.latitude, center.longitude)]
            if round % 2 == 0 { near["$maxDistance"] = JSON(number: radius) }
            var condition: JSON = ["at": near]
            if round % 3 == 0 { condition["open"] = true }
            let matching = places.filter {
                (round % 3 != 0 || $0.isOpen) && (round % 2 != 0 || $0.radians(to: center) <= radius)
            }
            let expected = matching.map { $0.radians(to: center) }.sorted().dropFirst(skip).prefix(limit)
            let found = try await test.names("Place", condition, order: [], limit: limit, skip: skip)
                .compactMap { byName[$0]?.radians(to: center) }
            #expect(found.count == expected.count)
            #expect(Set(found).isSubset(of: matching.map { $0.radians(to: center) }))
            #expect(zip(found, expected).allSatisfy { ($0 - $1).magnitude < 1e-7 }, "round \(round)")
        }
    }

    @Test func circlesAndBoxesHoldWhatTheyShould() async throws {
        var random = Seeded(state: 2)
        let places = Self.places(&random)
        let test = try await Self.filled(places)
        for round in 0..<200 {
            let center = Self.center(places, &random)
            let largest = ([0.001, 0.1, 3] as [Double]).randomElement(using: &random) ?? 1
            let radius = Double.random(in: 0...largest, using: &random)
            // A place on the boundary, within the precision of a double, may count as inside or outside.
            let inner = places.filter { $0.radians(to: center) < radius - 1e-7 }.map(\.name)
            let outer = places.filter { $0.radians(to: center) <= radius + 1e-7 }.map(\.name)
            let circle: JSON = [
                "at": [
                    "$geoWithin": [
                        "$centerSphere": [GeoTests.point(center.latitude, center.longitude), JSON(number: radius)]
                    ]
                ]
            ]
            let found = Set(try await test.names("Place", circle, limit: 5000))
            #expect(found.isSuperset(of: inner), "round \(round)")
            #expect(found.isSubset(of: outer), "round \(round)")

            let corner = Self.center(places, &random)
            let (south, north) = (min(center.latitude, corner.latitude), max(center.latitude, corner.latitude))
            let west = min(center.longitude, corner.longitude)
            let east = max(center.longitude, corner.longitude)
            let expected = places.filter { (place: Place) -> Bool in
                guard south <= place.latitude, place.latitude <= north else { return false }
                if place.latitude.magnitude == 90 { return true }
                return [-360, 0, 360].contains { turn in (west...east).contains(place.longitude + turn) }
            }
            let box: JSON = ["at": ["$within": ["$box": [GeoTests.point(south, west), GeoTests.point(north, east)]]]]
            #expect(Set(try await test.names("Place", box, limit: 5000)) == Set(expected.map(\.name)), "round \(round)")
        }
    }

    @Test func polygonsHoldWhatASimpleRayCastSays() async throws {
        var random = Seeded(state: 3)
        let places = Self.places(&random)
        let test = try await Self.filled(places)
        for round in 0..<200 {
            let center = Self.center(places, &random)
            let size = ([0.2, 2, 40] as [Double]).randomElement(using: &random) ?? 1
            // A star: corners at random distances from the centre, in the order of their directions.
            let corners = (0..<Int.random(in: 3...12, using: &random)).map { _ in
                Double.random(in: 0..<(2 * .pi), using: &random)
            }.sorted()
                .map { direction -> (latitude: Double, east: Double) in
                    let reach = size * .random(in: 0.3...1, using: &random)
                    return (min(89.9, max(-89.9, center.latitude + reach * sin(direction))), reach * cos(direction))
                }
            let points = corners.map { corner -> JSON in
                let longitude = center.longitude + corner.east
                return GeoTests.point(
                    corner.latitude, longitude > 180 ? longitude - 360 : longitude < -180 ? longitude + 360 : longitude)
            }
            let expected = places.filter { (place: Place) -> Bool in
                var east = place.longitude - center.longitude
                if east > 180 { east -= 360 } else if east < -180 { east += 360 }
                var isInside = false
                for (a, b) in zip(corners, corners.dropFirst() + [corners[0]])
                where (a.latitude > place.latitude) != (b.latitude > place.latitude) {
                    if east < a.east + (b.east - a.east) * (place.latitude - a.latitude) / (b.latitude - a.latitude) {
                        isInside.toggle()
                    }
                }
                return isInside
            }
            let condition: JSON = ["at": ["$geoWithin": ["$polygon": .array(points)]]]
            #expect(
                Set(try await test.names("Place", condition, limit: 5000)) == Set(expected.map(\.name)),
                "round \(round)")
        }
    }
}
