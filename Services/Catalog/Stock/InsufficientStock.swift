import ParseProtocol

/// Fewer pieces are in stock than a customer wants to buy.
package struct InsufficientStock {
    let name: String
    let available: Int64

    /// - Parameter available: 0 or more.
    package init(name: String, available: Int64) {
        self.name = name
        self.available = available
    }

    /// The text for the shopper.
    package var text: String {
        switch available {
        case 0: "\(name) is sold out."
        case 1: "Only 1 of \(name) is left."
        default: "Only \(available) of \(name) are left."
        }
    }

    func error(of productId: String) -> ParseError {
        ParseError(.validationError, text, details: ["productId": .string(productId), "available": .int(available)])
    }
}
