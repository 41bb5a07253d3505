import ParseProtocol
import ProcessKit
import Testing

/// The figures that a process reports to the gateway.
@Suite struct FigureTests {
    @Test func aFigureSurvivesTheWayToTheGateway() throws {
        for figure in [Figure(.mailsQueued, 2), Figure(.processorTime, 0.125), Figure(.mails, 7, ["outcome": "sent"])] {
            let arrived = try JSON(parsing: figure.json.serialized)
            #expect(Figure(arrived) == figure)
        }
    }

    /// Another release may report what this one does not know.
    @Test(arguments: [["name": "satchel_unknown", "value": 1], ["name": "satchel_mails"], ["value": 1], 1] as [JSON])
    func anUnknownFigureIsDropped(_ json: JSON) { #expect(Figure(json) == nil) }

    @Test func countersOfOneLabelAndDimensionsAreOne() {
        for _ in 0..<3 {
            EventCounters.shared.makeCounter(label: "satchel_mails", dimensions: [("outcome", "figureTest")])
                .increment(by: 2)
        }
        EventCounters.shared.makeCounter(label: "no_such_metric", dimensions: []).increment(by: 1)
        let figures = EventCounters.shared.figures
        #expect(figures.filter { $0.labels == ["outcome": "figureTest"] }.map(\.value) == [6])
        #expect(!figures.contains { $0.metric.name == "no_such_metric" })
    }
}
