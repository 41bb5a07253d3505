import ParseProtocol

/// The result of all checks.
package struct BookReport: Sendable {
    package let at: Timestamp
    package internal(set) var findings: [BookFinding] = []
    /// The services, or Stripe, that could not be asked, with the reason.
    package internal(set) var missing: [String: String] = [:]
    /// The rows that a check compared.
    var rows: [String: Int64] = [:]
    var days: [BookSums.Day: BookSums] = [:]
    private(set) var provider = ProviderBooks()

    init(at: Timestamp) { self.at = at }

    func count(_ check: String) -> Int { findings.count { $0.check == check } }

    /// Adds the comparison of a day with an outside provider.
    /// - Returns: false when there is none.
    mutating func add(provider answer: JSON) -> Bool {
        guard provider.add(answer) else { return false }
        for kind in ProviderBooks.kinds { rows[kind.name, default: 0] &+= answer["rows"]?.intValue ?? 0 }
        for row in answer["found"]?.arrayValue ?? [] {
            guard let check = row["check"]?.stringValue, let name = row["name"]?.stringValue,
                count(check) < ServiceBooks.foundMax
            else { continue }
            findings.append(BookFinding(check, name, row["found"]?.stringValue ?? ""))
        }
        return true
    }

    /// `clean`, `wrong`, or `incomplete` when a service was not asked and nothing else is wrong.
    package var state: String { !findings.isEmpty ? "wrong" : missing.isEmpty ? "clean" : "incomplete" }

    /// `checks` has the rows and the findings of each check, `sums` what the services have of each day and currency.
    package var json: JSON {
        let single = BookCheck.all.map { ($0.name, $0.says, $0.remedy) }
        let crossing = (CrossCheck.all.flatMap(\.kinds) + ProviderBooks.kinds).map { ($0.name, $0.says, $0.remedy) }
        let grouped = Dictionary(grouping: findings, by: \.check)
        let checks = (crossing + single).compactMap { name, says, remedy -> JSON? in
            // A check that was not completed has no count, but may have found something.
            guard let rows = rows[name] ?? grouped[name].map({ _ in 0 }) else { return nil }
            let wrong = (grouped[name] ?? []).map { finding -> JSON in
                ["row": .string(finding.row), "found": .string(finding.found)]
            }
            return [
                "check": .string(name), "says": .string(says), "remedy": .string(remedy), "rows": .int(rows),
                "wrong": .array(wrong),
            ]
        }
        let sums = days.sorted { $0.key < $1.key }.map { day, sums -> JSON in
            [
                "day": .string(String(Timestamp(milliseconds: day.day &* BookTables.day).iso.prefix(10))),
                "currency": .string(day.currency), "orders": .int(sums.orders), "bag": .int(sums.bag),
                "payments": .int(sums.payments), "analytics": .int(sums.analytics),
                "provider": sums.provider.map(JSON.int) ?? .null,
            ]
        }
        return [
            "state": .string(state), "at": .string(at.iso), "checks": .array(checks), "sums": .array(sums),
            "missing": .object(missing.mapValues(JSON.string)),
        ]
    }

    /// The table for a terminal, from the JSON of a report.
    package static func table(_ report: JSON) -> String {
        let checks = report["checks"]?.arrayValue ?? []
        func name(_ check: JSON) -> String { check["check"]?.stringValue ?? "" }
        let width = checks.map { name($0).count }.max() ?? 0
        func line(_ name: String, _ rows: String, _ wrong: String) -> String {
            name.padded(to: width) + "  " + rows.padded(to: 9) + "  " + wrong
        }
        var lines = [line("check", "rows", "wrong")]
        for check in checks {
            let wrong = check["wrong"]?.arrayValue ?? []
            let isFull = wrong.count >= ServiceBooks.foundMax
            lines.append(
                line(name(check), "\(check["rows"]?.intValue ?? 0)", "\(wrong.count)\(isFull ? " or more" : "")"))
        }
        for check in checks {
            let wrong = check["wrong"]?.arrayValue ?? []
            guard !wrong.isEmpty else { continue }
            lines += ["", "\(name(check)): \(check["says"]?.stringValue ?? "")"]
            lines += wrong.map { "  \($0["row"]?.stringValue ?? "")  \($0["found"]?.stringValue ?? "")" }
            lines.append("  What to do: \(check["remedy"]?.stringValue ?? "")")
        }
        for (service, reason) in (report["missing"]?.objectValue ?? [:]).sorted(by: { $0.key < $1.key }) {
            lines += ["", "Not checked: \(service). \(reason.stringValue ?? "")"]
        }
        return lines.joined(separator: "\n")
    }
}

extension String {
    fileprivate func padded(to width: Int) -> String { self + String(repeating: " ", count: max(0, width - count)) }
}
