/// What a run did, in all classes.
struct RunReport: Sendable, Equatable {
    private let classes: [ClassResult]
    private let refusalPath: String
    private let files: FileFigures

    init(_ classes: [ClassResult], refusalPath: String, files: FileFigures = FileFigures()) {
        (self.classes, self.refusalPath, self.files) = (classes, refusalPath, files)
    }

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
        lines += classes.flatMap { result in result.notes.map { "\(result.name): \($0)" } }
        lines.append("In all \(all.text).")
        if files != FileFigures() { lines.append("\(files.text).") }
        if files.lacking > 0 {
            lines.append("Rows whose files were not moved are listed in \(refusalPath); the rows themselves move.")
        }
        if all.refused > 0 { lines.append("Refused rows are listed in \(refusalPath); they stay out.") }
        lines.append("Nothing is visible to clients before --switch.")
        return lines.joined(separator: "\n")
    }
}
