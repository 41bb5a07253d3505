import MessageBus
import ParseProtocol
import ProcessKit
import PushService
import Testing

/// Which answers of the catalog make a promotion's image its own thumbnail.
@Suite struct PromotionThumbnailTests {
    @Test func aLostImageIsNotTriedAgain() {
        for lasting in [ParseError(.invalidImageData, ""), .objectNotFound] {
            #expect(PromotionThumbnails.isFinal(BusFailure(lasting)), "\(lasting)")
        }
        for passing in [ParseError(.serviceUnavailable, ""), .internalError, ParseError(.fileSaveError, "")] {
            #expect(!PromotionThumbnails.isFinal(BusFailure(passing)), "\(passing)")
        }
    }
}
