import ParseProtocol

/// Enlarges inputs by repeating one part until the input has a given size. With the same generator and input, every
/// size repeats the same part.
struct Growth {
    let dictionary: [String]

    /// Bytes of the smallest enlarged input.
    static let bytes = 4096
    /// Maximum ratio of times for twice the bytes. Quadratic time has the ratio 4.
    private static let ratioMax = 2.8
    /// Minimum processor time of the largest input, in seconds. Shorter times are not judged.
    private static let secondsMin = 0.02

    /// Whether the times for an input of one, two and four sizes grow too fast.
    static func isTooFast(_ seconds: [Double]) -> Bool {
        guard let last = seconds.last, last >= secondsMin else { return false }
        return zip(seconds, seconds.dropFirst()).allSatisfy { $1 > ratioMax * $0 }
    }

    func grown(_ input: [UInt8], to size: Int, _ random: Seeded) -> [UInt8] {
        var random = random
        if random.chance(60), let value = try? JSON(parsing: input) {
            return grown(value, to: size, &random).serialized
        }
        let position = random.below(input.count + 1)
        let length = random.below(min(64, input.count - position) + 1)
        var part = Array(input[position..<(position + length)])
        if part.isEmpty || random.chance(30) { part = Array(token(&random).utf8) }
        let count = max(1, (size - input.count) / part.count)
        return input[..<position] + Array(repeatElement(part, count: count).joined()) + input[position...]
    }

    /// The value with one of its parts, at any depth, repeated.
    private func grown(_ value: JSON, to size: Int, _ random: inout Seeded) -> JSON {
        switch value {
        case .object(var members) where !members.isEmpty && random.chance(60):
            let key = random.pick(members.keys.sorted())
            members[key] = grown(members[key] ?? .null, to: size, &random)
            return .object(members)
        case .array(var elements) where !elements.isEmpty && random.chance(60):
            let index = random.below(elements.count)
            elements[index] = grown(elements[index], to: size, &random)
            return .array(elements)
        case .object(var members):
            let name = random.chance(50) ? token(&random) : "k"
            let member = members.keys.sorted().first.flatMap { members[$0] } ?? 1
            let bytes = name.utf8.count + member.serialized.count + 8
            for number in 0..<max(1, size / bytes) { members["\(name)\(number)"] = member }
            return .object(members)
        case .string(let text):
            let part = text.isEmpty || random.chance(50) ? token(&random) : text
            return .string(String(repeating: part, count: max(1, size / max(1, part.utf8.count))))
        default:
            let element = value.arrayValue?.first ?? value
            let areNumbered = random.chance(30)
            return .array(
                (0..<max(1, size / (element.serialized.count + 1))).map { areNumbered ? .int(Int64($0)) : element })
        }
    }

    /// One of the target's strings, or combining marks in an order that normalization must sort.
    private func token(_ random: inout Seeded) -> String {
        let tokens = (dictionary + ["\u{301}\u{316}", "a"]).filter { !$0.isEmpty }
        return random.pick(tokens)
    }
}
