import ParseProtocol

/// The words from which products are generated. No list is empty.
struct Vocabulary: Sendable {
    struct Family: Sendable {
        var name: String
        var tags: [String]
        var priceMinorUnits: ClosedRange<Int64>
    }
    var qualities: [String]
    var ingredients: [String]
    var sizes: [String]
    var sentences: [String]
    var families: [Family]
}

/// Products for benchmarks. The product of an index is the same on every machine and in every run, regardless of
/// earlier ones. The gateway's answer for one product is about 1 KB.
struct ProductGenerator: Sendable {
    let vocabulary: Vocabulary
    /// The objectIds of the categories, in a fixed order; at least one.
    let brands: [String]

    /// All generated ids lie between these two texts, and hardly any other ids do.
    static let idPrefix = "gen"
    static let idEnd = "geo"
    private static let digitsMin = 7

    static func id(_ index: Int) -> String {
        let digits = String(index)
        return idPrefix + String(repeating: "0", count: max(0, digitsMin - digits.count)) + digits
    }

    static func index(ofId id: String) -> Int? {
        guard let index = id.hasPrefix(idPrefix) ? Int(id.dropFirst(idPrefix.count)) : nil, self.id(index) == id else {
            return nil
        }
        return index
    }

    func product(_ index: Int) -> JSON {
        var random = SplitMix64(state: UInt64(truncatingIfNeeded: index) &* 0x9E37_79B9_7F4A_7C15 &+ 20_150_401)
        let family = random.pick(vocabulary.families)
        let ingredient = random.pick(vocabulary.ingredients)
        let name = "\(random.pick(vocabulary.qualities)) \(ingredient) \(family.name) \(random.pick(vocabulary.sizes))"
        let sentences = vocabulary.sentences.shuffled(using: &random).prefix(10)
        // Whole tenths of a currency unit look like real prices: 4.90, 17.50.
        let price = Int64.random(in: family.priceMinorUnits, using: &random) / 10 * 10
        return [
            "objectId": .string(ProductGenerator.id(index)),
            "name": .string(name),
            "detail": .string("\(family.name) with \(ingredient.lowercased()). " + sentences.joined(separator: " ")),
            "unitPrice": JSON(number: Double(price) / 100),
            "priceUnit": "ea",
            "stock": .int(Int64.random(in: 0...200, using: &random)),
            "tags": .array((family.tags + [ingredient.lowercased()]).map(JSON.string)),
            "brand": .pointer("Category", random.pick(brands)),
            "active": true,
        ]
    }
}

/// Sebastiano Vigna's SplitMix64 (https://prng.di.unimi.it/splitmix64.c): small, seedable, and the same on every
/// machine.
struct SplitMix64: RandomNumberGenerator {
    var state: UInt64

    mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var z = state
        z = (z ^ (z >> 30)) &* 0xBF58_476D_1CE4_E5B9
        z = (z ^ (z >> 27)) &* 0x94D0_49BB_1331_11EB
        return z ^ (z >> 31)
    }

    /// - Precondition: `list` is not empty.
    mutating func pick<Element>(_ list: [Element]) -> Element {
        list[Int.random(in: 0..<list.count, using: &self)]
    }
}
