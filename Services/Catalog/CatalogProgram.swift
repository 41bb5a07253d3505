import ParseProtocol
import Platform
import ServiceKit

/// The catalog service: brands, products with their stock, reviews, favourites, stores, and all classes without another
/// owner.
package enum CatalogProgram {
    package static func main() async {
        await runService {
            let currency = try Currency.ofShop()
            let bucket = try FileBucket.ofShop()
            return (catalogPlan(currency, bucket), { try buildCatalog($0, &$1, currency, bucket) })
        }
    }
}
