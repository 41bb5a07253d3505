import ParseProtocol

/// Public objects with long texts, on which expensive patterns are slow.
enum LongTextObjects {
    private static let count = 400

    static func prepare(_ master: Master) async throws {
        let text = String(repeating: "a", count: 3000) + "!"
        try await master.batch(
            "POST",
            (0..<count).map {
                let place = Double($0) / 10
                let leaflet: JSON = [
                    "text": .string(text), "number": .int(Int64($0)),
                    "place": ["__type": "GeoPoint", "latitude": JSON(number: place), "longitude": JSON(number: place)],
                ]
                return ("/classes/Leaflet", leaflet)
            })
    }

    /// A pattern that backtracks until the engine's limit; each number gives a different pattern.
    static func pattern(_ number: Int) -> JSON { ["$regex": .string("^(a{1,9})+(?#\(number))[^a!]$")] }
}
