import MessageBus
import ParseProtocol
import ProcessKit

/// The settings of `web` (docs/reference/settings.md). URLs and keys come with the requests of the gateway.
package struct WebConfiguration: Sendable {
    /// `SATCHEL_REPLICA`
    let replica: String
    /// `SATCHEL_LANES`
    let laneCount: Int
    let bus: BusConfiguration
    let start: ProcessStart
    /// All settings, for operators.
    let settings: Settings
    /// Name of the shop on pages.
    let shopName: String
    /// Language of the pages behind mailed links.
    let language: ShopLanguage
    /// The shop's currency, in which pages show and take prices.
    let currency: Currency
    /// The shop's time zone, in which pages show dates.
    let zone: ShopZone
    /// The tiles of the dashboard's maps.
    let tiles: MapTiles
    /// Whether payments are those of the embedded sandbox, whose test cards the storefront offers.
    let isSandbox: Bool
    /// `SATCHEL_STRIPE_PUBLISHABLE_KEY`, with which Stripe's card form works; nil without Stripe.
    let stripeKey: String?
    /// `SATCHEL_PAGES`: a folder with templates that replace the ones that come with Satchel; nil for none.
    let pagesDirectory: String?
    /// `SATCHEL_DASHBOARD_TEXTS`: a folder with languages of the dashboard; nil for none.
    let textsDirectory: String?

    /// `SATCHEL_STOREFRONT_FILES`: a folder with files that replace those of the storefront; nil for none.
    let shopFilesDirectory: String?

    /// - Throws: `StartupProblem`, and `BusConfiguration.Problem` when the bus cannot work as configured.
    package init(_ settings: Settings) throws {
        self.settings = settings
        start = try ProcessStart(settings)
        replica = settings.text("satchel.replica", default: "web-1")
        laneCount = try settings.number("satchel.lanes", 1...16, default: 2)
        bus = try BusConfiguration(settings, dataDirectory: start.dataDirectory)
        shopName = settings.text("satchel.shop.name", default: "Satchel")
        language = try ShopLanguage(settings)
        // Services that count money abort startup for an unknown currency, with a text that names it.
        currency = (try? Currency(settings.text("satchel.currency", default: Currency.standard.code))) ?? .standard
        zone = try ShopZone.ofShop(settings)
        tiles = try MapTiles(settings)
        isSandbox = settings.text("satchel.payments", default: "sandbox") == "sandbox"
        let key = settings["satchel.stripe.publishable.key"]
        if let key, !key.hasPrefix("pk_") || !key.utf8.allSatisfy({ (33...126).contains($0) }) {
            throw StartupProblem("SATCHEL_STRIPE_PUBLISHABLE_KEY is not a publishable key: it must start with pk_.")
        }
        stripeKey = isSandbox ? nil : key
        pagesDirectory = settings["satchel.pages"]
        textsDirectory = settings["satchel.dashboard.texts"]
        shopFilesDirectory = settings["satchel.storefront.files"]
    }
}
