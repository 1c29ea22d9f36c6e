import io.openlineage.client.OpenLineage;
import io.openlineage.client.OpenLineageClientUtils;
import java.nio.file.Files;
import java.nio.file.Path;

/** Reads events, one a line, as a server does, and prints what it finds in them. */
public class ReadEvents {
    public static void main(String[] arguments) throws Exception {
        for (String line : Files.readAllLines(Path.of(arguments[0]))) {
            OpenLineage.RunEvent event = OpenLineageClientUtils.runEventFromJson(line);
            OpenLineage.RunFacets run = event.getRun().getFacets();
            System.out.println(event.getEventType() + " " + event.getRun().getRunId().version()
                + " " + event.getJob().getNamespace() + "/" + event.getJob().getName()
                + " " + event.getJob().getFacets().getJobType().getIntegration()
                + " " + event.getJob().getFacets().getTags().getTags().get(0).getKey()
                + " " + event.getJob().getFacets().getOwnership().getOwners().get(0).getType()
                + " " + run.getProcessing_engine().getName()
                + " " + (run.getErrorMessage() == null ? "-" : run.getErrorMessage().getMessage()));
            for (OpenLineage.InputDataset input : event.getInputs()) {
                System.out.println("< " + input.getNamespace() + " " + input.getName()
                    + " " + input.getFacets().getDatasetType().getDatasetType()
                    + " " + input.getFacets().getSchema().getFields().get(0).getType());
            }
            for (OpenLineage.OutputDataset output : event.getOutputs()) {
                OpenLineage.SchemaDatasetFacetFields after = output.getFacets().getSchema().getFields().get(0);
                System.out.println("> " + output.getNamespace() + " " + output.getName()
                    + " " + after.getName() + "." + after.getFields().get(0).getName());
            }
        }
    }
}
