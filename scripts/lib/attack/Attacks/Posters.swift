import ParseProtocol

/// Objects of nearly the maximum size.
enum Posters {
    private static let count = 245
    /// A few hundred bytes below the limit of 128 KiB.
    private static let textBytes = 130_000

    static func prepare(_ master: Master) async throws {
        let text = JSON.string(String(repeating: "poster ", count: textBytes / 7))
        try await master.batch(
            "POST", (0..<count).map { ("/classes/Poster", ["number": .int(Int64($0)), "text": text]) }, atOnce: 40)
    }
}
