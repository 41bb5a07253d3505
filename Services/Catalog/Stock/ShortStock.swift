import ParseProtocol

/// Less of a product than somebody wants to buy.
package struct ShortStock {
    let name: String
    let available: Int64

    /// - Parameter available: from 0.
    package init(name: String, available: Int64) {
        self.name = name
        self.available = available
    }

    /// As the shopper reads it.
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
