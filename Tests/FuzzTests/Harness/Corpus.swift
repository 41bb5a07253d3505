import Foundation

/// Inputs that once found a fault, one per file, and the seed inputs of every run.
struct Corpus {
    let folder: String

    init(_ target: String) {
        folder =
            URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
            .appendingPathComponent("Corpus/\(target)").path
    }

    /// Sorted by name, so that each run uses the same order.
    var entries: [(name: String, input: [UInt8])] {
        let names = (try? FileManager.default.contentsOfDirectory(atPath: folder)) ?? []
        return names.sorted().compactMap { name in
            FileManager.default.contents(atPath: "\(folder)/\(name)").map { (name, Array($0)) }
        }
    }

    /// Stores an input under a name derived from its content.
    func add(_ input: [UInt8]) throws -> String {
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        // FNV-1a, http://www.isthe.com/chongo/tech/comp/fnv/.
        let hash = input.reduce(0xcbf2_9ce4_8422_2325 as UInt64) { ($0 ^ UInt64($1)) &* 0x100_0000_01b3 }
        let name = "failure-\(String(hash, radix: 16))"
        try Data(input).write(to: URL(fileURLWithPath: "\(folder)/\(name)"))
        return name
    }
}
