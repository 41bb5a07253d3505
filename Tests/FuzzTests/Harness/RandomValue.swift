import ParseProtocol

/// The protocol's kinds of values, and random values of each. The pools are small, so that equal values are common.
enum ValueKind: String, CaseIterable, Sendable {
    case string, number, boolean, date, object, array, pointer, geoPoint, file, bytes, polygon

    static let numbers: [JSON] = [
        0, .double(-0.0), 1, 2, .double(2.5), -1, 3, 10, .double(0.1), .double(0.30000000000000004), .double(0.3),
        .double(1e300), .double(-1e300), .double(.leastNonzeroMagnitude), .double(1.7976931348623157e308),
        9_007_199_254_740_991,
        9_007_199_254_740_992, -9_007_199_254_740_992, .double(9007199254740994), .double(1e19), .double(123456789.125),
        .double(4.35), .double(1e-7), 1_000_000,
    ]
    static let strings: [JSON] = [
        "", "a", "b", "A", "B", "ab", "abc", "aab", "é", "e\u{301}", "ß", "日本", "😀", "a b", "%", "_", "'", "\"", "\\",
        "a\nb", "0",
        "10", "9", "true", "null", "\u{FFFD}", "\u{10FFFF}", "\u{7F}", "[1]", "{}", "2020-01-01T00:00:00.000Z",
    ]
    static let dates: [JSON] = [
        "0001-01-01T00:00:00.000Z", "1969-12-31T23:59:59.999Z", "1970-01-01T00:00:00.000Z", "2020-02-29T12:00:00.000Z",
        "2020-02-29T12:00:00.001Z", "2021-06-01T00:00:00.500Z", "9999-12-31T23:59:59.999Z",
    ].map { ["__type": "Date", "iso": .string($0)] }
    static let keys = ["x", "y", "k", "0", "1x", "Key_2"]

    /// - Parameter depth: maximum number of nested levels of arrays and objects.
    func value(_ random: inout Seeded, depth: Int = 2) -> JSON {
        switch self {
        case .string: random.pick(Self.strings)
        case .number: random.chance(80) ? random.pick(Self.numbers) : .int(Int64(random.below(20)) - 10)
        case .boolean: .bool(random.chance(50))
        case .date: random.pick(Self.dates)
        case .object:
            .object(
                Dictionary(
                    (0..<random.below(4)).map { _ in (random.pick(Self.keys), Self.any(&random, depth: depth - 1)) }
                ) { $1 })
        case .array: .array((0..<random.below(5)).map { _ in Self.any(&random, depth: depth - 1) })
        case .pointer: .pointer("Brand", random.pick(["b1", "b2", "b3"]))
        case .geoPoint: Self.point(&random)
        case .file: ["__type": "File", "name": .string(random.pick(["a.png", "b.png", "A.png"]))]
        case .bytes: ["__type": "Bytes", "base64": random.pick(["", "aGVsbG8=", "AA==", "aGVsbG8h"])]
        case .polygon: Self.polygon(&random)
        }
    }

    /// A value of any kind that an array or an Object may contain.
    static func any(_ random: inout Seeded, depth: Int) -> JSON {
        if random.chance(8) { return .null }
        let kinds: [ValueKind] =
            depth > 0
            ? [
                .string, .string, .number, .number, .boolean, .date, .pointer, .array, .object, .geoPoint, .file,
                .bytes,
            ]
            : [.string, .string, .number, .number, .boolean, .date, .pointer]
        return random.pick(kinds).value(&random, depth: depth)
    }

    static func point(_ random: inout Seeded) -> JSON {
        let (latitude, longitude) =
            random.chance(30)
            ? (Double(random.below(17) * 10 - 80) + 0.3, Double(random.below(35) * 10 - 170) + 0.25)
            : (Double(random.below(17_800_000) - 8_900_000) / 1e5, Double(random.below(35_999_000) - 17_999_500) / 1e5)
        return ["__type": "GeoPoint", "latitude": JSON(number: latitude), "longitude": JSON(number: longitude)]
    }

    /// A box or a triangle far from the poles and from the 180-degree meridian.
    static func polygon(_ random: inout Seeded) -> JSON {
        let south = Double(random.below(120)) - 70.5
        let west = Double(random.below(280)) - 150.5
        let (height, width) = (1 + Double(random.below(18)), 1 + Double(random.below(18)))
        var corners: [(Double, Double)] = [(south, west), (south, west + width), (south + height, west + width / 2)]
        if random.chance(50) {
            corners = [(south, west), (south, west + width), (south + height, west + width), (south + height, west)]
        }
        corners.append(corners[0])
        return [
            "__type": "Polygon",
            "coordinates": .array(corners.map { [JSON(number: $0.0), JSON(number: $0.1)] }),
        ]
    }
}
