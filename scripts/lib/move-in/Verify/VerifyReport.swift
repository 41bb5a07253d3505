import ParseProtocol

/// How one class compares.
struct ClassProof: Sendable, Equatable {
    /// Examples of a class that a report keeps; it shows the first of all classes.
    static let examplesMax = 10

    /// The class's name in Satchel.
    var name: String
    /// Rows of the suite and of the old server.
    var here = 0
    var there = 0
    var equal = 0
    var different = 0
    /// Rows of the old server that the suite lacks, and rows of the suite that the old server lacks.
    var missing = 0
    var extra = 0
    /// Rows that a run does not move: orphaned ones, ended sessions, roles of Satchel's own.
    var leftOut = 0
    /// Rows that could not be read, or that Satchel does not take.
    var refused = 0
    /// Objects that changed in Satchel after the old server's row.
    var newer = 0
    var queries = 0
    var failedQueries: [String] = []
    private(set) var differences: [FieldDifference] = []
    private(set) var extras: [FieldDifference] = []

    init(name: String, here: Int = 0) { (self.name, self.here) = (name, here) }

    mutating func add(_ difference: FieldDifference, isExtra: Bool = false) {
        if isExtra, extras.count < Self.examplesMax { extras.append(difference) }
        if !isExtra, differences.count < Self.examplesMax { differences.append(difference) }
    }

    /// Whether writes in Satchel can explain a query's other answer.
    var hasOwnObjects: Bool { extra + newer > 0 }

    func isProven(isStaged: Bool) -> Bool {
        different + missing + refused == 0 && (failedQueries.isEmpty || hasOwnObjects) && (!isStaged || extra == 0)
    }
}

/// The proof of a move.
struct VerifyReport: Sendable, Equatable {
    /// Whether the staged rows were compared, and not what clients see.
    var isStaged: Bool
    var seed: UInt64
    var classes: [ClassProof]
    /// Sentences on fields and permissions of classes.
    var schemas: [String] = []
    /// Files with the content that the old server shows, or whose names stand for it.
    var equalFiles = 0
    /// Rows with a file that the suite lacks.
    var lackingFiles = 0
    var fileExamples: [String] = []

    var isProven: Bool {
        schemas.isEmpty && lackingFiles == 0 && classes.allSatisfy { $0.isProven(isStaged: isStaged) }
    }

    private static let columns: [(title: String, value: @Sendable (ClassProof) -> Int)] = [
        ("there", { $0.there }), ("here", { $0.here }), ("equal", { $0.equal }), ("different", { $0.different }),
        ("missing", { $0.missing }), ("extra", { $0.extra }), ("left out", { $0.leftOut }),
        ("refused", { $0.refused }), ("newer here", { $0.newer }), ("queries", { $0.queries }),
    ]

    private var examples: [FieldDifference] {
        let all = classes.flatMap(\.differences) + classes.flatMap(\.extras)
        return Array(all.prefix(ClassProof.examplesMax))
    }

    /// The report for people.
    var text: String {
        let width = max(5, classes.map(\.name.count).max() ?? 0)
        func padded(_ text: String, _ count: Int) -> String {
            String(repeating: " ", count: max(0, count - text.count)) + text
        }
        var lines = [
            "class" + String(repeating: " ", count: width - 5)
                + Self.columns.map { "  " + padded($0.title, 8) }.joined()
        ]
        for proof in classes {
            let figures = Self.columns.map { "  " + padded("\($0.value(proof))", max(8, $0.title.count)) }
            lines.append(proof.name + String(repeating: " ", count: width - proof.name.count) + figures.joined())
        }
        if !examples.isEmpty { lines.append("\nThe first differences:") }
        lines += examples.map { "  \($0.text)" }
        for proof in classes where !proof.failedQueries.isEmpty {
            lines.append("\nQueries of \(proof.name) with another answer:")
            lines += proof.failedQueries.map { "  \($0)" }
            if proof.hasOwnObjects { lines.append("  Objects that are new or changed here may be the reason.") }
        }
        if !schemas.isEmpty { lines.append("\nClasses that differ:") }
        lines += schemas.map { "  \($0)" }
        if equalFiles + lackingFiles > 0 {
            lines.append("\nFiles: \(equalFiles) equal, \(lackingFiles) rows with missing ones")
        }
        lines += fileExamples.map { "  \($0)" }
        let subject = isStaged ? "what is staged" : "what clients see"
        lines.append("\nThe old server was compared with \(subject), seed \(seed).")
        lines.append(isProven ? "Everything of the old server is here." : "There are differences.")
        return lines.joined(separator: "\n")
    }

    /// The report for programs.
    var json: JSON {
        let listed = classes.map { proof -> JSON in
            var entry: JSON = [
                "className": .string(proof.name), "failedQueries": .array(proof.failedQueries.map(JSON.string)),
            ]
            for column in Self.columns {
                let words = column.title.split(separator: " ").map(String.init)
                let name = words[0] + words.dropFirst().map { $0.prefix(1).uppercased() + $0.dropFirst() }.joined()
                entry[name] = .int(Int64(column.value(proof)))
            }
            return entry
        }
        return [
            "isProven": .bool(isProven), "compared": isStaged ? "staged" : "served", "seed": .string("\(seed)"),
            "classes": .array(listed), "differences": .array(examples.map(\.json)),
            "schemas": .array(schemas.map(JSON.string)), "equalFiles": .int(Int64(equalFiles)),
            "lackingFiles": .int(Int64(lackingFiles)),
        ]
    }
}
