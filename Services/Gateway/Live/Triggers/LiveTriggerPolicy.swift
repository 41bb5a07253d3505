/// The effect of a class's find triggers on its live queries. Find triggers do not run for events, so events could show
/// objects which a trigger hides.
package enum LiveTriggerPolicy: Sendable {
    /// No trigger changes the results of finds.
    case open
    /// Cloud code changes finds, and its `beforeSubscribe` decides about live queries.
    case decided
    /// A trigger changes the results of finds, and none decides about live queries.
    case closed

    init(of className: String, in table: HookTable) {
        let asks = table.has([.beforeFind], className)
        let isUnseen =
            asks && !table.has([.beforeSubscribe], className)
            || table.has([.afterFind], className) && !table.has([.afterEvent], className)
        self = isUnseen ? .closed : asks ? .decided : .open
    }

    /// Whether a subscription has to end that began under other triggers.
    func ends(_ subscription: LiveSubscription) -> Bool {
        switch self {
        case .open: false
        case .decided: !subscription.hasRunSubscribeTrigger
        case .closed: true
        }
    }
}
