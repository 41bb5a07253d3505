import ParseProtocol
import ProcessKit

/// The further recipient of each order's confirmation: the shop.
package struct OrderCopies: Sendable {
    /// `SATCHEL_ORDER_COPY_TO`; empty for nobody.
    package var address = ""

    package init() {}

    /// - Throws: `StartupProblem` for what no mail can be sent to.
    init(_ settings: Settings) throws(StartupProblem) {
        address = settings.text("satchel.order.copy.to", default: "")
        guard address.isEmpty || Mailbox.isAddress(address) else {
            throw settings.wrong("satchel.order.copy.to", "is no e-mail address.")
        }
    }
}
