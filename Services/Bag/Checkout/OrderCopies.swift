import Configuration
import ParseProtocol

/// Who else gets the confirmation of each order: the shop.
package struct OrderCopies: Sendable {
    /// `SATCHEL_ORDER_COPY_TO`; empty for nobody.
    package var address = ""

    package init() {}

    package struct Problem: Error, CustomStringConvertible {
        /// For the operator, who finds it in the log.
        package let description: String
    }

    /// - Throws: `Problem`, before the service starts, for what no mail can be sent to.
    init(_ reader: ConfigReader) throws {
        address = reader.string(forKey: "satchel.order.copy.to", default: "")
        guard address.isEmpty || Mailbox.isAddress(address) else {
            throw Problem(description: "SATCHEL_ORDER_COPY_TO=\(address) is no e-mail address.")
        }
    }
}
