import ParseProtocol

/// Answers the questions of `ServiceBooks.answer`: over the bus, from files, or in a test.
package protocol BookSource: Sendable {
    /// - Throws: when the service cannot be asked.
    func answer(_ question: JSON, by service: String) async throws -> JSON
}

/// All checks of the books.
package struct BookAudit: Sendable {
    private let source: any BookSource
    /// The time of the checked data.
    private let now: @Sendable () -> Timestamp
    /// The time between two looks; nil for data that does not change: one look is enough.
    private let pause: Duration?

    package init(_ source: any BookSource, now: @escaping @Sendable () -> Timestamp, pause: Duration?) {
        self.source = source
        self.now = now
        self.pause = pause
    }

    /// Looks twice when something is wrong: a row is wrong if both looks find it. An order that is being paid is
    /// complete in one service before it is in another.
    package func run() async -> BookReport {
        let first = await look()
        guard let pause, !first.findings.isEmpty, (try? await Task.sleep(for: pause)) != nil else { return first }
        var second = await look()
        // `found` may differ between the looks: more attempts, another refund.
        let wrong = Set(first.findings.map { [$0.check, $0.row] })
        second.findings.removeAll { !wrong.contains([$0.check, $0.row]) }
        // The findings of the first look stay for a check that the second look could not make.
        let rows = second.rows
        let unasked = second.missing["Stripe"] == nil ? [] : ProviderBooks.kinds.map(\.name)
        func isChecked(_ finding: BookFinding) -> Bool {
            rows[finding.check] != nil && !unasked.contains(finding.check)
        }
        second.findings = first.findings.filter { !isChecked($0) } + second.findings.filter(isChecked)
        return second
    }

    private func look() async -> BookReport {
        var report = BookReport(at: now())
        for check in BookCheck.all where report.missing[check.service] == nil {
            guard let answer = await ask(["check": .string(check.name)], check.service, &report) else { continue }
            let found = (answer["found"]?.arrayValue ?? []).compactMap { row -> BookFinding? in
                guard let name = row["name"]?.stringValue else { return nil }
                return BookFinding(check.name, name, row["found"]?.stringValue ?? "")
            }
            report.findings += found
            report.rows[check.name] = answer["rows"]?.intValue ?? 0
        }
        if report.missing["payments"] == nil { await askProvider(&report) }
        for check in CrossCheck.all where check.lists.allSatisfy({ report.missing[$0.service] == nil }) {
            await merge(check, &report)
        }
        return report
    }

    /// Has payments compare its charges with an outside provider, a day at a time.
    private func askProvider(_ report: inout BookReport) async {
        var day: Int64 = 0
        while let answer = await ask(["provider": .int(day)], "payments", part: "Stripe", &report) {
            report.missing["Stripe"] = answer["problem"]?.stringValue
            guard report.add(provider: answer), let next = answer["next"]?.intValue, next > day else { return }
            day = next
        }
    }

    /// Reads the lists of a check side by side.
    private func merge(_ check: CrossCheck, _ report: inout BookReport) async {
        var pages = check.lists.map { Pages(list: $0) }
        var counted: Int64 = 0
        // The report gets the sums when all lists were read to their ends.
        var days = report.days
        while true {
            for index in pages.indices where pages[index].isEmpty {
                let list = pages[index].list
                let question: JSON = ["list": .string(list.name), "after": .string(pages[index].last)]
                guard let answer = await ask(question, list.service, part: list.part, &report) else { return }
                pages[index].add((answer["rows"]?.arrayValue ?? []).compactMap(BookRow.init))
            }
            guard let key = pages.compactMap(\.first).min(by: precedes) else { break }
            var group: CrossCheck.Group = [:]
            for index in pages.indices {
                if let row = pages[index].take(key) { group[pages[index].list] = row }
            }
            if group[check.counted] != nil { counted += 1 }
            let found = check.find(key, group, report.at.milliseconds)
            for finding in found where report.count(finding.check) < ServiceBooks.foundMax {
                report.findings.append(finding)
            }
            BookSums.add(group, report.provider, to: &days)
        }
        report.days = days
        for kind in check.kinds { report.rows[kind.name] = counted }
    }

    /// - Parameter part: the part of the report that needs the answer; nil for the whole service.
    private func ask(
        _ question: JSON, _ service: String, part: String? = nil, _ report: inout BookReport
    ) async -> JSON? {
        do {
            return try await source.answer(question, by: service)
        } catch {
            report.missing[part ?? service] = "\((error as? ParseError)?.message ?? "\(error)")"
            return nil
        }
    }
}

/// Keys are in the order of their bytes, which is that of the databases.
private func precedes(_ one: String, _ other: String) -> Bool { one.utf8.lexicographicallyPrecedes(other.utf8) }

/// The next rows of a list.
private struct Pages {
    let list: BookList
    private var rows: ArraySlice<BookRow> = []
    private(set) var last = ""
    private var isAtEnd = false

    init(list: BookList) { self.list = list }

    /// Whether another page has to be read.
    var isEmpty: Bool { rows.isEmpty && !isAtEnd }
    var first: String? { rows.first?.key }

    mutating func add(_ page: [BookRow]) {
        // A page in another order would never end.
        rows = page.filter { precedes(last, $0.key) }[...]
        last = rows.last?.key ?? last
        isAtEnd = rows.isEmpty
    }

    /// Removes and returns the row with this key.
    mutating func take(_ key: String) -> BookRow? { rows.first?.key == key ? rows.popFirst() : nil }
}
