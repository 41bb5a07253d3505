import ParseProtocol

/// Derives new inputs from old ones by changing bytes or, for JSON inputs, the structure.
struct Mutator {
    let dictionary: [String]

    /// Maximum input size. Larger inputs only cost time; other tests cover sizes.
    private static let bytesMax = 20_000

    func mutated(_ input: [UInt8], _ pool: [[UInt8]], _ random: inout Seeded) -> [UInt8] {
        if random.chance(50), let value = try? JSON(parsing: input) {
            var changed = value
            for _ in 0...random.below(3) { changed = mutated(changed, &random) }
            let text = changed.serialized
            if text.count <= Self.bytesMax { return text }
        }
        var bytes = input
        for _ in 0...random.below(4) { change(&bytes, pool, &random) }
        return Array(bytes.prefix(Self.bytesMax))
    }

    // MARK: Bytes

    private func change(_ bytes: inout [UInt8], _ pool: [[UInt8]], _ random: inout Seeded) {
        let position = random.below(bytes.count + 1)
        let length = random.below(min(32, bytes.count - position) + 1)
        let range = position..<(position + length)
        switch random.below(8) {
        case 0 where position < bytes.count: bytes[position] ^= 1 << UInt8(random.below(8))
        case 1 where position < bytes.count: bytes[position] = random.pick([0, 1, 0x7F, 0x80, 0xC0, 0xED, 0xF4, 0xFF])
        case 2: bytes.removeSubrange(range)
        case 3: bytes.insert(contentsOf: random.bytes(1 + random.below(8)), at: position)
        case 4:
            bytes.insert(
                contentsOf: Array(repeating: Array(bytes[range]), count: 1 + random.below(40)).joined(), at: position)
        case 5:
            let other = random.pick(pool)
            let start = random.below(other.count + 1)
            bytes.replaceSubrange(range, with: other[start..<(start + random.below(other.count - start + 1))])
        case 6: bytes.removeSubrange(position...)
        default:
            guard !dictionary.isEmpty else { return }
            bytes.replaceSubrange(random.chance(50) ? range : position..<position, with: random.pick(dictionary).utf8)
        }
    }

    // MARK: JSON

    private func mutated(_ value: JSON, _ random: inout Seeded) -> JSON {
        switch value {
        case .object(let members) where !members.isEmpty && random.chance(80):
            var members = members
            let key = random.pick(members.keys.sorted())
            switch random.below(6) {
            case 0: members[key] = nil
            case 1:
                members[random.chance(70) ? token(&random) : key + token(&random)] = members[key]
                if random.chance(70) { members[key] = nil }
            case 2: members[token(&random)] = value
            default: members[key] = mutated(members[key] ?? .null, &random)
            }
            return .object(members)
        case .array(var elements) where !elements.isEmpty && random.chance(80):
            let index = random.below(elements.count)
            switch random.below(6) {
            case 0: elements.remove(at: index)
            case 1: elements.append(elements[index])
            case 2: elements.insert(interesting(&random), at: index)
            default: elements[index] = mutated(elements[index], &random)
            }
            return .array(elements)
        default: return random.chance(15) ? wrapped(value, &random) : interesting(&random)
        }
    }

    private func wrapped(_ value: JSON, _ random: inout Seeded) -> JSON {
        random.chance(50) ? [value] : .object([token(&random): value])
    }

    private func token(_ random: inout Seeded) -> String {
        dictionary.isEmpty ? "a" : random.pick(dictionary)
    }

    private func interesting(_ random: inout Seeded) -> JSON {
        switch random.below(6) {
        case 0:
            random.pick([
                0, -1, 1, 2_147_483_648, 9_007_199_254_740_992, -9_007_199_254_740_992, .double(9.3e18),
                .double(-1e308),
                .double(.leastNonzeroMagnitude), .double(0.1), 1000, 100,
            ])
        case 1: random.pick([.null, .bool(true), .bool(false), [:], []])
        case 2:
            random.pick([
                "", "\0", "a", "é", "e\u{301}", "😀", "'", "\"", "\\", "%", "a.b", "$a", "__proto__",
                .string(String(repeating: "x", count: 300)),
            ])
        default: .string(token(&random))
        }
    }
}
