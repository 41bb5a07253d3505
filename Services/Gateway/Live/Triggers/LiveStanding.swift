/// The meaning that triggers of finds have for live queries of a class. Such a trigger is not asked about
/// events: it may hide what they would show.
package enum LiveStanding: Sendable {
    /// No trigger changes what finds show.
    case open
    /// Cloud code changes what finds ask for, and has `beforeSubscribe` in which it decides about live queries.
    case decided
    /// What finds show is changed, and what live queries show is not.
    case closed

    init(of className: String, in table: HookTable) {
        let asks = table.has([.beforeFind], className)
        let isUnseen =
            asks && !table.has([.beforeSubscribe], className)
            || table.has([.afterFind], className) && !table.has([.afterEvent], className)
        self = isUnseen ? .closed : asks ? .decided : .open
    }

    /// Whether a subscription that began under other triggers hears nothing more.
    func ends(_ subscription: LiveSubscription) -> Bool {
        switch self {
        case .open: false
        case .decided: !subscription.isDecidedByCode
        case .closed: true
        }
    }
}
