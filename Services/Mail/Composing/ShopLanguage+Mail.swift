import ProcessKit

extension ShopLanguage {
    /// `2 January 2026`, `2. Januar 2026`; nil for a text that is no date.
    /// - Parameter iso: begins with `2026-01-02`.
    func date(_ iso: String) -> String? {
        let parts = iso.prefix(10).split(separator: "-").map { Int($0) ?? 0 }
        guard parts.count == 3, (1...9999).contains(parts[0]), (1...12).contains(parts[1]), (1...31).contains(parts[2])
        else { return nil }
        let names = self == .de ? Self.germanMonths : Self.englishMonths
        return "\(parts[2])\(self == .de ? "." : "") \(names[parts[1] - 1]) \(parts[0])"
    }

    /// `24 hours`, `3 days`.
    func duration(hours: Int64) -> String {
        if hours % 24 == 0, hours > 24 { return "\(hours / 24) \(self == .de ? "Tage" : "days")" }
        let unit = self == .de ? "Stunde" : "hour"
        return hours == 1 ? "1 \(unit)" : "\(hours) \(unit)\(self == .de ? "n" : "s")"
    }

    private static let englishMonths = [
        "January", "February", "March", "April", "May", "June", "July", "August", "September", "October", "November",
        "December",
    ]
    private static let germanMonths = [
        "Januar", "Februar", "März", "April", "Mai", "Juni", "Juli", "August", "September", "Oktober", "November",
        "Dezember",
    ]
}
