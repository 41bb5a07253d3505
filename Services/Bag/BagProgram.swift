import ParseProtocol
import ServiceKit

/// The bag service: bags, orders and their checkout.
package enum BagProgram {
    package static func main() async {
        await runService {
            let currency = try Currency.ofShop()
            return (bagPlan(currency), { try buildBag($0, &$1, currency) })
        }
    }
}
