import CatalogService
import Testing

/// The text that a shopper reads who wants more than there is.
@Suite struct ShortStockTests {
    @Test(
        arguments: [
            (0, "Rare is sold out."), (1, "Only 1 of Rare is left."), (2, "Only 2 of Rare are left."),
            (11, "Only 11 of Rare are left."),
        ] as [(Int64, String)])
    func isSaidInGoodEnglish(_ available: Int64, _ text: String) {
        #expect(ShortStock(name: "Rare", available: available).text == text)
    }
}
