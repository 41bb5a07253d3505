import ParseProtocol

/// Reads everything, sends nothing, and finds what a switch would refuse.
struct DryRun: Sendable {
    let source: any OldServer
    let suite: any MoveSuite
    let mapping: Mapping
    /// Stores nothing.
    var files: FileMover?
    /// The suite's.
    var currency = Currency.standard

    /// - Throws: `MoveInError` when the mapping is wrong or the source cannot be read.
    func run() async throws -> DryRunReport {
        let start = ContinuousClock.now
        let classes = try await source.classes()
        try mapping.check(classes)
        let finder = ConflictReader(
            ConflictFinder(schemas: try await suite.schemas(), currency: currency), mapping: mapping, files: files)
        var oldNames: [String: String] = [:]
        for old in classes.sorted(by: { $0.name < $1.name }) {
            guard let schema = mapping.schema(old), await finder.take(schema) else { continue }
            oldNames[schema.name] = old.name
            ProgressLine.show("Reading \(schema.name)")
            try await source.read(old.name, since: nil, into: finder)
        }
        let suspects = await finder.suspects()
        for name in suspects.classes.sorted() {
            guard let oldName = oldNames[name] else { continue }
            ProgressLine.show("Looking at \(name) again")
            try await source.read(oldName, since: nil, into: finder)
        }
        ProgressLine.end()
        var report = await finder.report(seconds: (ContinuousClock.now - start) / .seconds(1))
        report.files = await files?.figures
        return report
    }
}

/// Feeds a `ConflictFinder` with the rows of a source, in two looks.
private actor ConflictReader: RowSink {
    private let mapping: Mapping
    private let files: FileMover?
    private var finder: ConflictFinder
    private var suspected: ConflictFinder.Suspects?
    private var classes: [String: DryRunReport.ClassSize] = [:]

    init(_ finder: ConflictFinder, mapping: Mapping, files: FileMover?) {
        (self.finder, self.mapping, self.files) = (finder, mapping, files)
    }

    func take(_ schema: MovedClass) -> Bool {
        let isRead = finder.take(schema)
        if isRead { classes[schema.name] = DryRunReport.ClassSize(name: schema.name) }
        return isRead
    }

    func suspects() -> ConflictFinder.Suspects {
        let suspects = finder.suspects()
        suspected = suspects
        return suspects
    }

    func take(_ rows: [MovedRow]) async throws {
        let mapped = rows.compactMap { mapping.row($0) }
        if let files, suspected == nil { _ = try await files.moved(mapped) }
        for row in mapped {
            if let suspected {
                finder.lookAgain(row, for: suspected)
                continue
            }
            let bytes = JSON.object(row.fields).serialized.count
            classes[row.className]?.rows += 1
            classes[row.className]?.bytes += bytes
            finder.take(row, bytes: bytes)
        }
    }

    func refuse(_ refusal: RefusedRow) async throws {
        if suspected == nil { finder.take(refusal) }
    }

    func report(seconds: Double) -> DryRunReport {
        DryRunReport(
            classes: classes.values.sorted { $0.name < $1.name }, findings: finder.findings, readSeconds: seconds)
    }
}

/// What a dry run found.
struct DryRunReport: Sendable, Equatable {
    struct ClassSize: Sendable, Equatable {
        var name: String
        var rows = 0
        var bytes = 0
    }

    var classes: [ClassSize]
    var findings: [ConflictKind: Finding]
    /// How long reading everything took.
    var readSeconds: Double
    /// Files in folders and dumps; those on the web are not asked for.
    var files: FileFigures?

    /// Rates at which a suite stages on a small machine; a run prints its own.
    static let rowsPerSecond = 10_000.0, bytesPerSecond = 10_000_000.0

    var rows: Int { classes.reduce(0) { $0 + $1.rows } }
    var bytes: Int { classes.reduce(0) { $0 + $1.bytes } }
    /// The expected length of a first run.
    var seconds: Double {
        max(readSeconds, Double(rows) / Self.rowsPerSecond, Double(bytes) / Self.bytesPerSecond)
    }
    /// Whether something must be mended before the switch.
    var hasConflicts: Bool { findings.keys.contains { !$0.isNote } }

    private var found: [(kind: ConflictKind, finding: Finding)] {
        ConflictKind.allCases.compactMap { kind in findings[kind].map { (kind: kind, finding: $0) } }
    }

    /// The report for people.
    var text: String {
        var lines = classes.map { "\($0.name): \($0.rows) rows, \(Self.size($0.bytes))" }
        lines.append(
            """
            In all \(rows) rows, \(Self.size(bytes)): about \(Self.time(seconds)) at \(Int(Self.rowsPerSecond)) rows \
            or \(Self.size(Int(Self.bytesPerSecond))) a second.
            """)
        if let files, files != FileFigures() {
            let lacking = files.lacking > 0 ? "; \(files.lacking) are missing in the places of --files" : ""
            lines.append("\(files.copied) files here, \(Self.size(files.bytes))\(lacking).")
        }
        for (kind, finding) in found {
            lines.append("\n\(kind.isNote ? "Note" : "Conflict"): \(finding.count) \(kind.title)")
            lines += finding.examples.map { "  \($0.description)" }
            if finding.count > finding.examples.count { lines.append("  …") }
            lines.append("  \(kind.remedy)")
        }
        lines.append(hasConflicts ? "\nThe conflicts must be mended before --switch." : "\nThere is nothing to mend.")
        return lines.joined(separator: "\n")
    }

    /// The report for scripts.
    var json: JSON {
        let sizes = classes.map { size -> JSON in
            ["className": .string(size.name), "rows": .int(Int64(size.rows)), "bytes": .int(Int64(size.bytes))]
        }
        return [
            "classes": .array(sizes), "rows": .int(Int64(rows)), "bytes": .int(Int64(bytes)),
            "seconds": .double(seconds), "conflicts": .array(found.map { Self.json($0.kind, $0.finding) }),
        ]
    }

    private static func json(_ kind: ConflictKind, _ finding: Finding) -> JSON {
        let examples = finding.examples.map { conflict -> JSON in
            [
                "className": .string(conflict.className), "objectId": conflict.objectId.map(JSON.string) ?? .null,
                "place": conflict.place.map { JSON.string($0.description) } ?? .null, "text": .string(conflict.text),
            ]
        }
        return [
            "kind": .string(kind.rawValue), "count": .int(Int64(finding.count)), "isNote": .bool(kind.isNote),
            "remedy": .string(kind.remedy), "examples": .array(examples),
        ]
    }

    private static func size(_ bytes: Int) -> String {
        bytes < 10_000_000 ? "\((bytes + 999) / 1000) KB" : "\(bytes / 1_000_000) MB"
    }

    private static func time(_ seconds: Double) -> String {
        seconds < 120 ? "\(Int(seconds.rounded(.up))) seconds" : "\(Int((seconds / 60).rounded(.up))) minutes"
    }
}
