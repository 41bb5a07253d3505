/// The time limit of a piece of work, checked inside steps that are otherwise uninterruptible.
protocol WorkClock: AnyObject {
    /// Whether the work must end now.
    var isOver: Bool { get }
}

/// The clock ended the work. Results so far are meaningless.
struct WorkInterrupted: Error {}

extension TimeLimit: WorkClock {}
extension MatchBudget: WorkClock {}
