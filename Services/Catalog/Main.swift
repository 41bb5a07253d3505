import ParseProtocol
import ServiceKit

/// The catalog service: brands, products with their stock, reviews, favourites, stores, and every class nobody else
/// owns.
@main
struct Catalog {
    static func main() async {
        await runService {
            let currency = try Currency.ofShop()
            return (catalogPlan(currency), { try buildCatalog($0, &$1, currency) })
        }
    }
}
