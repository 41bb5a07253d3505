import ServiceKit

/// The catalog service: brands, products with their stock, reviews, favourites, stores, and every class nobody else owns.
@main
struct Catalog {
    static func main() async { await runService(catalogPlan, build: buildCatalog) }
}
