import CatalogService
import Testing

/// The error text for a shopper who requests more than is in stock.
@Suite struct InsufficientStockTests {
    @Test(
        arguments: [
            (0, "Rare is sold out."), (1, "Only 1 of Rare is left."), (2, "Only 2 of Rare are left."),
            (11, "Only 11 of Rare are left."),
        ] as [(Int64, String)])
    func isSaidInGoodEnglish(_ available: Int64, _ text: String) {
        #expect(InsufficientStock(name: "Rare", available: available).text == text)
    }
}
