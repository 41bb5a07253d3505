import ParseProtocol
import ProcessKit

/// The additional recipient of each order confirmation: the shop.
package struct OrderCopies: Sendable {
    /// `SATCHEL_ORDER_COPY_TO`; empty for no copy.
    package var address = ""

    package init() {}

    /// - Throws: `StartupProblem` for an address to which no mail can be sent.
    init(_ settings: Settings) throws(StartupProblem) {
        address = settings.text("satchel.order.copy.to", default: "")
        guard address.isEmpty || Mailbox.isAddress(address) else {
            throw settings.wrong("satchel.order.copy.to", "is not an e-mail address.")
        }
    }
}
