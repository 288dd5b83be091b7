import java.io.File;
import jakarta.servlet.http.HttpServlet;
import jakarta.servlet.http.HttpServletRequest;
import jakarta.servlet.http.HttpServletResponse;
import org.apache.catalina.Context;
import org.apache.catalina.connector.Connector;
import org.apache.catalina.startup.Tomcat;

/** Answers with the path that Tomcat maps to servlets. Arguments: a directory, and three ports. */
public class Tomcat10 {
	public static void main(String[] args) throws Exception {
		Tomcat tomcat = new Tomcat();
		tomcat.setBaseDir(args[0]);
		String[] handling = {"reject", "decode", "passthrough"};
		for (int i = 0; i < handling.length; i++) {
			Connector c = new Connector();
			c.setPort(Integer.parseInt(args[i + 1]));
			c.setProperty("address", "127.0.0.1");
			c.setEncodedSolidusHandling(handling[i]);
			tomcat.getService().addConnector(c);
		}
		Context context = tomcat.addContext("", new File(args[0]).getAbsolutePath());
		Tomcat.addServlet(context, "path", new HttpServlet() {
			@Override
			protected void service(HttpServletRequest request, HttpServletResponse response) throws java.io.IOException {
				String info = request.getPathInfo();
				response.setContentType("text/plain");
				response.setCharacterEncoding("UTF-8");
				response.getWriter().print(request.getServletPath() + (info == null ? "" : info));
			}
		});
		context.addServletMappingDecoded("/*", "path");
		tomcat.start();
		tomcat.getServer().await();
	}
}
