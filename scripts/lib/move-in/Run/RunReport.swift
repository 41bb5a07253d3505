/// What a run did, in all classes.
struct RunReport: Sendable, Equatable {
    private let classes: [ClassResult]
    private let refusalPath: String

    init(_ classes: [ClassResult], refusalPath: String) { (self.classes, self.refusalPath) = (classes, refusalPath) }

    var refused: Int { classes.reduce(0) { $0 + $1.refused } }

    var text: String {
        var all = ClassResult(name: "")
        for result in classes {
            all.moved += result.moved
            all.unchanged += result.unchanged
            all.removed += result.removed
            all.refused += result.refused
            all.orphans += result.orphans
        }
        var lines = classes.filter { $0.rows + $0.removed > 0 }.map { "\($0.name): \($0.text)" }
        lines.append("In all \(all.text).")
        if all.refused > 0 { lines.append("Refused rows are listed in \(refusalPath); they stay out.") }
        lines.append("Nothing is visible to clients before --switch.")
        return lines.joined(separator: "\n")
    }
}
